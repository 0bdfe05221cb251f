# Arrays in and out: NumPy's files, bytes without a header, settings as JSON.
. "$(dirname "$0")/common.sh"
needs_lua
needs_compiler
python=$(command -v python3) || skip "no python3 to make arrays with"

cat >twice.cl <<END
kernel void twice(global const float *from, global float *to)
{
    size_t i = get_global_id(0);
    to[i] = 2 * from[i];
}
kernel void swap(global const short3 *from, global short3 *to)
{
    size_t i = get_global_id(0);
    to[i] = from[i].zyx;
}
END
cat >twice.lua <<END
local a = input("a", "float")
local b = resource("b", "float", a.width, a.height, a.depth)
overwrite(b) read(a)
dispatch(kernel("twice.cl", "twice"), {a, b},
         {global = a.width * a.height * a.depth})
output("b", b)
END
cat >swap.lua <<END
local a = input("a", "short3")
local b = resource("b", "short3", a.width)
overwrite(b) read(a)
dispatch(kernel("twice.cl", "swap"), {a, b}, {global = a.width})
output("b", b)
END

# save NAME DESCR SHAPE FORMAT NUMBERS: a file as NumPy writes it.
cat >save.py <<END
import struct, sys
name, descr, shape, form = sys.argv[1:5]
head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
head += " " * (-(len(head) + 11) % 64) + "\n"
numbers = [eval(n) for n in sys.argv[5:]]
open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) +
                       head.encode() + struct.pack(form, *numbers))
END
cat >load.py <<END
import ast, struct, sys
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x93NUMPY\x01\x00"
size = struct.unpack("<H", data[8:10])[0]
assert (10 + size) % 64 == 0 and data[9 + size:10 + size] == b"\n"
head = ast.literal_eval(data[10:10 + size].decode())
assert head["fortran_order"] is False
print(head["descr"], head["shape"],
      *struct.unpack(sys.argv[2], data[10 + size:]))
END
gives() {
    got=$("$python" load.py "$1" "$2") || fail "$1 cannot be read"
    [ "$got" = "$3" ] || fail "$1 holds '$got', not '$3'"
}

"$python" save.py a.npy '<f4' '(2, 3)' '<6f' 1 2 3 4 5 6
expect 0 '*' "$HEDDLE" run twice.lua --in a=a.npy --out b=b.npy
gives b.npy '<6f' '<f4 (1, 2, 3) 2.0 4.0 6.0 8.0 10.0 12.0'
expect 0 '*' "$HEDDLE" run twice.lua --in a=a.npy --out b=b.raw
[ "$(od -An -tf4 b.raw | tr -s ' \n' ' ')" = " 2 4 6 8 10 12 " ] ||
    fail "b.raw is wrong"
mv b.raw c.dat
expect 0 '*' "$HEDDLE" run twice.lua --in a=c.dat@float,3,2 --out b=b.npy
gives b.npy '<6f' '<f4 (1, 2, 3) 4.0 8.0 12.0 16.0 20.0 24.0'

# The other byte order, and vectors of three, which take the room of four.
"$python" save.py a.npy '>f4' '(3,)' '>3f' 1 2 3
expect 0 '*' "$HEDDLE" run twice.lua --in a=a.npy --out b=b.npy
gives b.npy '<3f' '<f4 (1, 1, 3) 2.0 4.0 6.0'

# Archives, as numpy.savez writes them, and ours.
cat >pack.py <<END
import sys, zipfile
method = zipfile.ZIP_DEFLATED if sys.argv[2] == "packed" else zipfile.ZIP_STORED
with zipfile.ZipFile(sys.argv[1], "w", method) as z:
    for name in sys.argv[3:]:
        # As NumPy does it: sizes come in an extra field of the head.
        with z.open(name + ".npy", "w", force_zip64=True) as f:
            f.write(open(name + ".npy", "rb").read())
END
cat >unpack.py <<END
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None and z.namelist() == ["arr_0.npy"]
    open("out.npy", "wb").write(z.read("arr_0.npy"))
END
"$python" save.py one.npy '<f4' '(3,)' '<3f' 1 2 3
"$python" save.py two.npy '<f4' '(3,)' '<3f' 4 5 6
"$python" pack.py both.npz stored one two
"$python" pack.py single.npz stored two
"$python" pack.py packed.npz packed one
expect 0 '*' "$HEDDLE" run twice.lua --in a=both.npz:two --out b=b.npy
gives b.npy '<3f' '<f4 (1, 1, 3) 8.0 10.0 12.0'
expect 0 '*' "$HEDDLE" run twice.lua --in a=single.npz --out b=b.npz
"$python" unpack.py b.npz || fail "b.npz is no archive"
gives out.npy '<3f' '<f4 (1, 1, 3) 8.0 10.0 12.0'
expect 0 '*' "$HEDDLE" run twice.lua --in a=b.npz:arr_0 --out b=b.npy
gives b.npy '<3f' '<f4 (1, 1, 3) 16.0 20.0 24.0'
for words in 'both.npz:three|no array of that name; it has: one, two' \
    'both.npz|say which array, as in FILE.npz:NAME; it has: one, two' \
    'packed.npz|its arrays are compressed' 'none.npz|cannot open none.npz' \
    'a.npy.npz|it is no .npz file'; do
    cp a.npy a.npy.npz
    rm -f b.npy
    expect 1 "${words#*|}" "$HEDDLE" run twice.lua --in "a=${words%%|*}" --out b=b.npy
done
expect 1 "an output has a .npz file of its own" \
    "$HEDDLE" run twice.lua --in a=single.npz --out b=b.npz:b
# No damage crashes it: each byte of the archive in turn.
cat >damage.py <<END
import subprocess, sys
good = open("single.npz", "rb").read()
for i in list(range(0, len(good), 17)) + list(range(len(good) - 40, len(good))):
    bad = good[:i] + bytes([good[i] ^ 0xff]) + good[i + 1:]
    open("bad.npz", "wb").write(bad)
    code = subprocess.run([sys.argv[1], "run", "twice.lua", "--in",
                           "a=bad.npz", "--out", "b=b.npy"],
                          capture_output=True).returncode
    assert code in (0, 1), (i, code)
for n in range(0, len(good), 61):
    open("bad.npz", "wb").write(good[:n])
    code = subprocess.run([sys.argv[1], "run", "twice.lua", "--in",
                           "a=bad.npz", "--out", "b=b.npy"],
                          capture_output=True).returncode
    assert code == 1, (n, code)
END
"$python" damage.py "$HEDDLE" || fail "a damaged archive is not refused"

"$python" save.py a.npy '<i2' '(2, 3)' '<6h' 1 2 3 4 5 -6
expect 0 '*' "$HEDDLE" run swap.lua --in a=a.npy@short3 --out b=b.npy
gives b.npy '<6h' '<i2 (2, 3) 3 2 1 -6 5 4'

# What is wrong is said, and nothing is written.
rm -f b.npy
refuses() {
    expect 1 "$1" "$HEDDLE" run twice.lua --in "a=$2" --out b=b.npy
    [ ! -e b.npy ] || fail "b.npy was written"
}
refuses "elements of type 'short', but" a.npy
refuses "cannot open nowhere.npy" nowhere.npy
refuses "give bytes without a header as" c.dat@float,0
refuses "give bytes without a header as" a.raw
refuses "it has less than the 28 bytes" c.dat@float,7
refuses "it has more than the 20 bytes" c.dat@float,5
printf 'no numpy' >bad.npy
refuses "it is no .npy file" bad.npy
"$python" save.py bad.npy '<c8' '(1,)' '<2f' 1 2
refuses "kernels have no type for its elements, '<c8'; save" bad.npy
"$python" save.py bad.npy '<f4' '(1, 1, 1, 1, 1)' '<1f' 1
refuses "an array of 5 axes" bad.npy
"$python" save.py bad.npy '<f4' '(0,)' '<0f'
refuses "it has no elements" bad.npy
"$python" save.py bad.npy '<f4' '(99999999999,)' '<1f' 1
refuses "bad.npy: " bad.npy
"$python" save.py good.npy '<f4' '(2,)' '<2f' 1 2
sed 's/False/True /' good.npy >bad.npy
refuses "Fortran order" bad.npy
size=$(wc -c <good.npy)
for length in 1 7 9 11 60 100 "$((size - 1))"; do
    head -c "$length" good.npy >bad.npy
    refuses "bad.npy: " bad.npy
done

# Settings as JSON.
cat >data.lua <<END
local sizes = setting("sizes", {1})
local name = setting("name", "none")
local b = resource("b", "int", #sizes)
block(#sizes) write(b)
for i, size in ipairs(sizes) do fill(b, size, {to = i - 1, size = 1}) end
output(name, b)
END
echo '{"sizes": [3, 4, 5], "name": "x"}' >data.json
expect 0 '*' "$HEDDLE" run data.lua --data data.json --out x=x.npy
gives x.npy '<3i' '<i4 (3,) 3 4 5'
expect 0 '*' "$HEDDLE" run data.lua --data data.json --set 'sizes=[7]' --out x=x.npy
gives x.npy '<1i' '<i4 (1,) 7'
echo '{"sizes": 3}' >data.json
expect 1 "setting 'sizes' is number in the data" "$HEDDLE" run data.lua --data data.json
echo '{"other": 3}' >data.json
expect 1 "the program has no setting 'other'" "$HEDDLE" run data.lua --data data.json
printf '{\n"sizes": [3,\n}' >data.json
expect 1 "data.json, line 3: a value is missing" "$HEDDLE" run data.lua --data data.json
echo '[1]' >data.json
expect 1 "must be an object" "$HEDDLE" run data.lua --data data.json
echo '1' >data.json
expect 1 "must be an object" "$HEDDLE" run data.lua --data data.json
expect 1 "cannot open nowhere.json" "$HEDDLE" run data.lua --data nowhere.json
