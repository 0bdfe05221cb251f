#!/bin/sh
# The unit loop is code for GPUs: compile it for nvptx64 and assemble it.
#
#     unit_nvptx.sh CLANG SOURCE-FOLDER
#
# Ends with 77, and says why, where clang has no such target; without ptxas only
# the assembling is left out.
set -eu
clang=$1
root=$2

"$clang" --print-targets 2>/dev/null | grep -q nvptx64 || {
    echo "skipped: $clang has no target nvptx64"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$clang" --target=nvptx64-nvidia-cuda -march=sm_80 -ffreestanding -nogpulib \
    -std=c11 -O2 -fconvergent-functions -Wall -Wextra -Werror \
    -I"$root/src" -I"$root/include" -S -o "$work/tile.ptx" \
    "$root/src/backend/unit_tile.c"

# Nothing but the kernels may be missing; both protocols' fences are there, and
# no read-modify-write.
for word in 'entry hdu_tile' bar.sync ld.relaxed.sys st.relaxed.sys \
    fence.sc.sys fence.acq_rel.sys; do
    grep -q "$word" "$work/tile.ptx" || {
        echo "the code for nvptx64 has no $word" >&2
        exit 1
    }
done
if grep -E '\.extern' "$work/tile.ptx" | grep -v hdu_kernel ||
    grep -E '\<(atom|red)\.' "$work/tile.ptx"; then
    echo "the code for nvptx64 has what is above" >&2
    exit 1
fi
if command -v ptxas >/dev/null; then
    ptxas -arch=sm_80 -c -o "$work/tile.o" "$work/tile.ptx"
else
    echo "not assembled: there is no ptxas"
fi
