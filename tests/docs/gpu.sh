#!/bin/sh
# Run the program of docs/gpu.md as it stands there, on the CPU and on the GPU
# of HEDDLE_CUDA_DRIVER: gpu.sh HEDDLE PAGE
set -eu
heddle=$1
page=$2
. "$(dirname "$0")/common.sh"

fail() {
    echo "gpu.sh: $*" >&2
    exit 1
}

need has_compiler has_lua
block cl >flood.cl
block lua >flood.lua
block sh | sed "s|^heddle.*|\"$heddle\"& --stats|; s|\"heddle|\" |" >run.sh
[ -s flood.cl ] && [ -s flood.lua ] && [ -s run.sh ] ||
    fail "a block is missing in $page"
sh -e run.sh >told 2>&1 || fail "the commands of the page failed: $(cat told)"

# Distances from cell 9, up to the wall.
awk 'BEGIN { for (i = 0; i < 128; i++)
    print (i >= 60 ? 0 : (i > 9 ? i - 9 : 9 - i) + 1) }' >right
for file in cpu gpu; do
    od -An -v -t d4 -w4 $file.raw | tr -d ' ' >got
    cmp right got || fail "$file.raw is wrong"
done
grep -q 'passes started by units' told || fail "the host scheduled both"
[ "$(grep -c 'appended by kernels: 102' told)" = 2 ] ||
    fail "kernels appended something else"
