# Kernels through the command.
. "$(dirname "$0")/common.sh"
needs_compiler

mkdir work
cd work || exit 1
cat >invert.cl <<'END'
#ifndef WHITE
#define WHITE 255
#endif

kernel void invert(global const uchar4 *from, global uchar4 *to)
{
    size_t i = get_global_id(0);
    to[i] = (uchar4)((uchar3)(WHITE) - from[i].xyz, from[i].w);
}
END

# Ahead of time.
expect 0 "" "$HEDDLE" build invert.cl
expect 0 "" "$HEDDLE" build -o other.hdb invert.cl -DWHITE=100 -cl-mad-enable
expect 0 "" "$HEDDLE" build --explain invert.cl -D WHITE=100
said "invert.cl:5: invert(uchar4* from, uchar4* to)"
expect 0 "" "$HEDDLE" build --explain invert.cl -heddle-form=thread
said "form: one thread per work-item"
expect 1 "heddle: " "$HEDDLE" build invert.cl -heddle-form=coil
holds . invert.cl invert.hdb other.hdb

# For named processors.
if [ "$(uname -m)" = x86_64 ]; then
    expect 0 "" "$HEDDLE" build --cpu x86-64,x86-64-v3 invert.cl -o two.hdb
    expect 0 "" "$HEDDLE" info two.hdb
    said "for x86-64, "
    said "for x86-64-v3"
    said "kernel     invert(uchar4* from, uchar4* to), invert.cl:5"
    expect 0 "" "$HEDDLE" info --json two.hdb
    said '"processor":"x86-64-v3"'
    expect 0 "" "$HEDDLE" build --cpu x86-64,x86-64-v3 invert.cl --explain
    said "for x86-64-v3:"
    expect 1 "unknown target CPU 'toaster'" \
        "$HEDDLE" build --cpu toaster invert.cl -o no.hdb
    # No processor has the instructions of both.
    for cpu in bdver4 sapphirerapids; do
        "$HEDDLE" build --cpu $cpu invert.cl -o one.hdb || fail "build --cpu $cpu"
        "$HEDDLE" info one.hdb >>about
    done
    grep -q "(which needs .* does not run here" about ||
        fail "code that cannot run here is not named"
    rm two.hdb one.hdb about
fi
expect 1 "invert.cl: not a Heddle binary" "$HEDDLE" info invert.cl
expect 2 "--calibrate" "$HEDDLE" info --calibrate invert.hdb
expect 0 "" "$HEDDLE" info invert.hdb
said "runs here"
holds . invert.cl invert.hdb other.hdb

# Chains that do not depend on each other stay side by side, for the processor to overlap.
cat >chains.cl <<'END'
#define M4(x, y) x = mad(y, x, y); y = mad(x, y, x); x = mad(y, x, y); y = mad(x, y, x);
#define M16(x, y) M4(x, y) M4(x, y) M4(x, y) M4(x, y)

kernel void chains(global float *to, float a)
{
    float8 x = a, y = (float8)((float)get_local_id(0));
    for (int i = 0; i < 32; i++) {
        M16(x, y)
    }
    to[get_global_id(0)] = y.s0 + y.s1 + y.s2 + y.s3 + y.s4 + y.s5 + y.s6 + y.s7;
}
END
HEDDLE_CACHE=off "$HEDDLE" build chains.cl -heddle-passes=dump >passes 2>&1 ||
    fail "build -heddle-passes=dump"
awk '/^; chains after/ { all = next_to = 0; last = "" }
    / = .*call.*fmuladd/ { all++; next_to += last != "" && index($0, last ",") + index($0, last ")") > 0; last = $1 }
    END { exit !(all >= 128 && next_to * 4 < all) }' passes ||
    fail "chains run one after another"
rm chains.cl chains.hdb passes

# What the rows of a group read alike is read once for all of them: in the blocks that
# multiply, the sum that was kept of each row is all that is loaded as a vector.
if [ "$(uname -m)" = x86_64 ]; then
cat >tile.cl <<'END'
kernel __attribute__((reqd_work_group_size(16, 16, 1))) void
tile(global const float *a, global const float *b, global float *c, int n)
{
    local float p[16][16], q[16][16];
    int x = get_local_id(0), y = get_local_id(1);
    int i = get_global_id(0), j = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        p[y][x] = a[j * n + k + x];
        q[y][x] = b[(k + y) * n + i];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int m = 0; m < 16; m++)
            sum += p[y][m] * q[m][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[j * n + i] = sum;
}
END
HEDDLE_CACHE=off "$HEDDLE" build --cpu x86-64-v4 tile.cl -heddle-passes=dump >passes 2>&1 ||
    fail "build -heddle-passes=dump"
awk '/^; tile after/ { good = bad = products = loads = 0 }
    /^$|^[^ ]*:/ { good += products >= 16 && loads * 16 <= products
                   bad += products >= 16 && loads * 16 > products
                   products = loads = 0 }
    / = .*(fmuladd|fmul.*<16)/ { products++ }
    / = load <16 x float>/ { loads++ }
    END { exit !(good > 0 && bad == 0) }' passes ||
    fail "a tile is read again for each row"
rm tile.cl tile.hdb passes

# Where a row begins is a long expression, which the code generator would take apart for
# each of its accesses.
cat >rows.cl <<'END'
kernel void rows(global const float *data, global float *sums, int n)
{
    size_t row = get_group_id(0) * 7919 % n;
    global const float *at = data + row * 4096 + get_local_id(0);
    float sum = 0;
    for (int i = 0; i < 4096; i += 64)
        sum += at[i];
    sums[get_global_id(0)] = sum;
}
END
HEDDLE_CACHE=off "$HEDDLE" build --cpu x86-64-v4 rows.cl -heddle-passes=dump >passes 2>&1 ||
    fail "build -heddle-passes=dump"
awk '/^; rows after/ { frozen = 0 }
    / = freeze ptr/ { frozen++ }
    END { exit !frozen }' passes ||
    fail "each access of a row is taken apart"
rm rows.cl rows.hdb passes
fi

# Without a cache, none is made.
HEDDLE_CACHE=off expect 0 "" "$HEDDLE" build invert.cl -o other.hdb
holds . invert.cl invert.hdb other.hdb
HEDDLE_CACHE=off expect 0 "" "$HEDDLE" info
said "cache      none"

cat >broken.cl <<'END'
kernel void broken(global int *to)
{
    to[0] = nowhere;
}
END
expect 1 "broken.cl:3:" "$HEDDLE" build broken.cl
grep -q "nowhere" "$folder/results/err" || fail "the compiler's text is lost"
expect 1 "missing.cl" "$HEDDLE" build missing.cl
expect 1 "heddle: " "$HEDDLE" build invert.cl -cl-no-such-thing
expect 1 "cannot write missing/o.hdb: No such file or directory" \
    "$HEDDLE" build invert.cl -o missing/o.hdb
if small_disk full; then
    head -c 8192 /dev/zero >full/rest
    expect 1 "full/o.hdb" "$HEDDLE" build invert.cl -o full/o.hdb
    rm -f full/rest
    small_disk_end
fi
holds . invert.cl invert.hdb other.hdb broken.cl

# What is no file is written into, and a link is followed.
if mknod device c 1 3 2>/dev/null; then # as /dev/null, which is not put at risk
    expect 0 "" "$HEDDLE" build invert.cl -o device
    [ -c device ] || fail "a device was replaced"
    rm device
fi
mkfifo pipe
"$HEDDLE" build invert.cl -o pipe 2>err &
cmp pipe invert.hdb || fail "the pipe has another binary: $(cat err)"
[ -p pipe ] || fail "the pipe was replaced"
ln -s place.hdb link.hdb
: >place.hdb
expect 0 "" "$HEDDLE" build invert.cl -o link.hdb
[ -h link.hdb ] || fail "a link was replaced"
cmp place.hdb invert.hdb || fail "the link was not followed"
"$HEDDLE" build invert.cl -o - | cmp - invert.hdb || fail "not on standard output"
rm pipe err link.hdb place.hdb

# Of several files, with a library and a binary among them.
cat >shade.cl <<'END'
int shade(int x);
kernel void shaded(global int *to) { to[get_global_id(0)] = shade(1); }
END
echo 'int shade(int x) { return FACTOR * x; }' >half.cl
expect 1 "shade.cl:2: error: call of 'shade'" "$HEDDLE" build shade.cl
expect 0 "" "$HEDDLE" build half.cl --library -D FACTOR=3
expect 0 "" "$HEDDLE" build shade.cl half.cl -D FACTOR=3 -o all.hdb
expect 0 "" "$HEDDLE" build shade.cl half.hdb invert.hdb -o all.hdb --explain
said "shade.cl:2: shaded(int* to)"
said "invert.cl:5: invert(uchar4* from, uchar4* to)"
expect 1 "half.cl:1: error: 'shade' is defined in half.cl:1 too" \
    "$HEDDLE" build shade.cl half.hdb half.cl -D FACTOR=3 -o no.hdb
expect 1 "finished code" "$HEDDLE" build --library invert.hdb -o no.hdb
expect 1 "half.hdb would be written over" "$HEDDLE" build half.hdb shade.cl
holds . invert.cl invert.hdb other.hdb broken.cl shade.cl half.cl half.hdb \
    all.hdb

# In a graph.
needs_lua
cat >parts.lua <<'END'
local shaded = kernel({"shade.cl", "half.hdb"}, "shaded")
local to = resource("to", "int", 1)
local shade = pass {name = "shade", write = {"to"}, run = function(p)
  dispatch(shaded, {p.to}, {global = 1})
end}
shade {to = to}
END
cat >shade.cl <<'END'
int shade(int x);
kernel void shaded(global int *to) { printf("shade %d\n", shade(14)); }
END
expect 0 '*' "$HEDDLE" run parts.lua
said "shade 42"
rm shade.cl half.cl half.hdb all.hdb parts.lua

# What runs out of a binary names the work-item that was at fault, with -g.
cat >stray.cl <<'END'
kernel void stray(global int *to)
{
    size_t i = get_global_id(0);
    to[i == 5 ? i + 50000 : i] = 1;
}
END
cat >stray.lua <<'END'
local stray = kernel("stray.hdb", "stray")
local to = resource("to", "int", 8)
local fall = pass {name = "fall", write = {"to"}, run = function(p)
  dispatch(stray, {p.to}, {global = 8})
end}
fall {to = to}
END
for option in -g -w; do
    expect 0 "" "$HEDDLE" build $option stray.cl
    expect 0 "" "$HEDDLE" info stray.hdb
    named="the binary has no checked code of the kernel: build it with -g"
    if [ $option = -g ]; then
        said "and to name the work-item of a fault"
        named="stray.cl:4: work-item (5, 0, 0)"
    fi
    expect 1 "$named" "$HEDDLE" run stray.lua
done
rm stray.cl stray.hdb stray.lua

# As source and as binary; twice is the identity.
needs_images
cat >p.lua <<'END'
local map = input("map", "uchar4")
local file = setting("file", "invert.cl")
local name = setting("kernel", "invert")
local invert = kernel(file, name)
local function inverted(from)
    local to = resource("inverted", "uchar4", map.width, map.height)
    read(from) write(to) state(invert)
    dispatch({from, to}, {global = map.width * map.height})
    return to
end
local once = inverted(map)
output("once", once)
output("twice", inverted(once))
END
"$PICTURE" 61 35 in.png || fail "no picture was made"
for file in invert.cl invert.hdb; do
    expect 0 "" "$HEDDLE" run p.lua --in map=in.png --set file=$file \
        --out once=once.png --out twice=twice.png --stats
    "$PICTURE" in.png twice.png || fail "$file: inverted twice is another image"
    "$PICTURE" in.png once.png && fail "$file: inverted once is no other image"
    rm -f once.png twice.png
done
for form in loops thread coroutine; do
    expect 0 "" "$HEDDLE" run p.lua --in map=in.png --form $form \
        --out once=once.png --out twice=twice.png
    "$PICTURE" in.png twice.png || fail "$form: inverted twice is another image"
    rm -f once.png twice.png
done

# A program is compiled once: the second run takes it from the cache, a changed
# file is compiled again.
cached() {
    expect 0 '*' "$HEDDLE" run p.lua --in map=in.png --json
    said "\"programs\":{\"count\":1,\"cached\":$1}"
}
sed 's/WHITE 255/WHITE 254/' invert.cl >fresh.cl
mv fresh.cl invert.cl
cached 0
cached 1
sed 's/WHITE 254/WHITE 253/' invert.cl >fresh.cl
mv fresh.cl invert.cl
cached 0

failing() {
    says=$1
    shift
    expect 1 "$says" "$HEDDLE" run p.lua --in map=in.png --out once=o.png "$@"
    [ ! -e o.png ] || fail "$*: an output was made"
}
failing "broken.cl:3:" --set file=broken.cl --set kernel=broken
failing "missing.cl" --set file=missing.cl
failing "nokernel" --set kernel=nokernel
head -c 100 invert.hdb >cut.hdb
failing "cut.hdb" --set file=cut.hdb
