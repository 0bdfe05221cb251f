#!/bin/sh
# Replay the session of docs/debugging.md: debugging.sh HEDDLE PICTURE PAGE SCRIPT
set -eu
heddle=$1
picture=$2
page=$3
script=$4
. "$(dirname "$0")/common.sh"

fail() {
    echo "debugging.sh: $*" >&2
    exit 1
}

need has_compiler has_lua
timeout -k 5 200 gdb -batch -ex "python print(6 * 7)" 2>/dev/null | grep -q 42 ||
    skip "there is no gdb with Python"
timeout -k 5 200 gdb -batch -ex run --args true 2>&1 | grep -q "exited normally" ||
    skip "gdb may not trace processes here"

block c >twist.cl
block lua >twist.lua
block gdb >session
block text >expected
for file in twist.cl twist.lua session expected; do
    [ -s $file ] || fail "a block is missing in $page"
done
"$picture" 8 1 map.png || skip "no PNG images in this build"
timeout -k 5 200 gdb -batch -nx -x "$script" -x session --args \
    "$heddle" run --debug twist.lua --in map=map.png --out to=to.png >said 2>&1
while IFS= read -r line; do
    grep -qxF -- "$line" said || {
        cat said >&2
        fail "gdb did not say '$line'"
    }
done <expected
