#!/bin/sh
# PTX of a CUDA C file, for the oldest GPUs that the compiler knows, and of the
# oldest version that these have: it is for drivers older than the compiler.
#
#     nvcc.sh NVCC FILE.cu FILE.ptx
set -eu
nvcc=$1 from=$2 to=$3

for pair in 70:6.3 75:6.3 80:7.0; do
    if "$nvcc" -ptx -O3 -arch="compute_${pair%:*}" "$from" -o "$to.new" 2>"$to.log"; then
        sed "s/^\.version .*/.version ${pair#*:}/" "$to.new" >"$to"
        rm "$to.new" "$to.log"
        exit 0
    fi
done
cat "$to.log" >&2
exit 1
