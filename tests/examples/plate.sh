# examples/plate: what NumPy finds with a dense matrix, and a residual that NumPy
# computes in double precision.
. "$SOURCE/tests/command/common.sh"
needs_lua
needs_compiler
for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && break
    python=
done
[ -n "$python" ] || skip "no NumPy; install python3-numpy"
program=$SOURCE/examples/plate/plate.lua
passes() {
    sed -n 's/.*: \([0-9]*\) passes in .*/\1/p' "$folder/results/out"
}

cat >make.py <<'END'
import sys
import numpy
h, w = int(sys.argv[1]), int(sys.argv[2])
random = numpy.random.default_rng(h)
numpy.save("k.npy", random.uniform(0.2, 5, (h, w)).astype("f4"))
numpy.save("b.npy", random.standard_normal((h, w)).astype("f4"))
END
cat >check.py <<'END'
import sys
import numpy
k, b = numpy.load("k.npy").astype("f8"), numpy.load("b.npy").astype("f8")
x, sums = numpy.load("x.npy").astype("f8"), numpy.load("r.npy").reshape(-1)
tolerance = float(sys.argv[1])
h, w = k.shape
assert x.shape == (h, w), x.shape

# Conductances of the walls between columns and rows; of the rim at both ends.
across = numpy.concatenate([k[:, :1], 2 / (1 / k[:, 1:] + 1 / k[:, :-1]), k[:, -1:]], 1)
down = numpy.concatenate([k[:1], 2 / (1 / k[1:] + 1 / k[:-1]), k[-1:]], 0)
def flow(t):
    wide = numpy.pad(t, ((0, 0), (1, 1)))
    high = numpy.pad(t, ((1, 1), (0, 0)))
    sideways = across * numpy.diff(wide, axis=1)
    downwards = down * numpy.diff(high, axis=0)
    return -numpy.diff(sideways, axis=1) - numpy.diff(downwards, axis=0)

norm = numpy.linalg.norm
left = norm(b - flow(x)) / norm(b)
print("residual", left, "by the program", (sums[0] / sums[3]) ** 0.5)
assert left < tolerance + 2e-4, left
assert sums[0] <= tolerance ** 2 * sums[3] * 1.0001
if h * w <= 1500:
    matrix = numpy.array([flow(e.reshape(h, w)).ravel() for e in numpy.eye(h * w)])
    exact = numpy.linalg.solve(matrix, b.ravel()).reshape(h, w)
    error = abs(x - exact).max() / abs(exact).max()
    print("error", error)
    assert error < 1e-3 + 10 * tolerance, error
END
for size in "1 1" "7 5" "30 43" "150 201"; do
    # shellcheck disable=SC2086
    "$python" make.py $size || fail "no arrays"
    expect 0 '*' "$HEDDLE" run "$program" --in conductivity=k.npy \
        --in source=b.npy --out temperature=x.npy --out residual=r.npy
    "$python" check.py 1e-5 || fail "$size: another temperature"
done

# It stops by what it finds.
fine=$(passes)
expect 0 '*' "$HEDDLE" run "$program" --in conductivity=k.npy \
    --in source=b.npy --out temperature=x.npy --out residual=r.npy \
    --set tolerance=0.1 --set every=1
"$python" check.py 0.1 || fail "another temperature"
coarse=$(passes)
[ "$coarse" -lt "$fine" ] || fail "$coarse passes for 0.1, $fine for 1e-5"

"$python" -c 'import numpy; numpy.save("b.npy", numpy.zeros((2, 2), "f4"))'
expect 1 "are not of one shape" "$HEDDLE" run "$program" \
    --in conductivity=k.npy --in source=b.npy --out temperature=x.npy
