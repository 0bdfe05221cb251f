#!/bin/sh
# examples.sh START CHOLESKY ORDER: examples in C that use fields, on one process
# and on several, beside NumPy.
start=$1 cholesky=$2 order=$3
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && break
    python=
done
[ -n "$python" ] || {
    echo "skipped: no NumPy (Debian package python3-numpy)"
    exit 77
}
cat >"$folder/check.py" <<'END'
import sys
import numpy
size = int(sys.argv[1])
i, j = numpy.mgrid[0:size, 0:size]
matrix = (i * j + i + j) % 97 / 97 + size * numpy.eye(size)
factor = numpy.load(sys.argv[2])
exact = numpy.linalg.cholesky(matrix)
error = abs(factor - exact).max() / abs(exact).max()
print("error", error)
assert error < 1e-13, error
END
for processes in 1 2 4; do
    timeout 120 "$start" openmpi $processes "$cholesky" 192 16 \
        "$folder/factor.npy" >"$folder/out" 2>&1
    code=$?
    [ $code -ne 77 ] || { cat "$folder/out"; exit 77; }
    [ $code -eq 0 ] || { cat "$folder/out" >&2; exit 1; }
    "$python" "$folder/check.py" 192 "$folder/factor.npy" || exit 1
    rm "$folder/factor.npy"
    timeout 120 "$start" openmpi $processes "$order" 300001 >"$folder/out" 2>&1 &&
        grep -q ', 0 are; the same keys;' "$folder/out" || {
        cat "$folder/out" >&2
        exit 1
    }
done
"$cholesky" 100 16 x 2>"$folder/out"
[ $? -eq 2 ] && grep -q 'SIZE is a multiple of BLOCK' "$folder/out"
