# What a graph's kernels touch against the sizes of their resources, before
# anything runs; and images and samplers as arguments.
. "$(dirname "$0")/common.sh"
needs_lua
needs_compiler

cat >k.cl <<'END'
kernel void step(global const float *from, global float *to)
{
    size_t i = get_global_id(0);
    to[i] = from[i];
}
kernel void shift(global const float *from, global float *to)
{
    size_t i = get_global_id(0);
    to[i] = from[i + 4];
}
kernel void back(global float *to)
{
    long i = get_global_id(0);
    to[i - 2] = 1;
}
kernel void guarded(global float *to, int n)
{
    int i = get_global_id(0);
    if (i < n)
        to[i] = 1;
}
END
cat >p.lua <<'END'
local what, items = setting("what", "step"), setting("items", 64)
local a, b = resource("a", "float", 64), resource("b", "float", 64)
local start = pass {name = "start", write = {"to"}, run = function(p) clear(p.to) end}
local move = pass {name = "move", read = {"from"}, write = {"to"},
    run = function(p)
        dispatch(kernel("k.cl", what), {p.from, p.to}, {global = items})
    end}
local set = pass {name = "set", write = {"to"},
    run = function(p)
        if what == "guarded" then
            dispatch(kernel("k.cl", what), {p.to, 64}, {global = items})
        elseif what == "scratch" then
            local s = scratch("float", 32)
            dispatch(kernel("k.cl", "step"), {s, p.to}, {global = items})
        else
            dispatch(kernel("k.cl", what), {p.to}, {global = items})
        end
    end}
start {to = a}
if what == "step" or what == "shift" then move {from = a, to = b}
else set {to = b} end
output("b", b)
END
good() {
    expect 0 '*' "$HEDDLE" run p.lua --out b=b.npy --set "what=$1" --set "items=$2"
}
bad() {
    rm -f b.npy
    expect 1 "$3" "$HEDDLE" run p.lua --out b=b.npy --set "what=$1" \
        --set "items=$2"
    [ ! -e b.npy ] || fail "$1: an output was written"
}
good step 64
good step 1
good shift 60
good guarded 1000
good scratch 32
bad step 65 "p.lua:20: pass 'move': with 65 work-items kernel 'step' reads up \
to byte 260 of resource 'a', its argument 1 ('from'), which has 256"
bad shift 61 "pass 'move': with 61 work-items kernel 'shift' reads up to byte \
260 of resource 'a', its argument 1 ('from'), which has 256"
bad back 8 "p.lua:21: pass 'set': with 8 work-items kernel 'back' writes 8 bytes \
before the beginning of resource 'b', its argument 1 ('to')"
bad scratch 33 "kernel 'step' reads up to byte 132 of scratch, its argument 1 \
('from'), which has 128"

# Images: pixels that go through texels, and what a sampler makes of coordinates.
needs_images
cat >i.cl <<'END'
kernel void through(read_only image2d_t from, sampler_t at, write_only image2d_t to)
{
    int2 i = (int2)(get_global_id(0), get_global_id(1));
    float2 size = (float2)(get_global_size(0), get_global_size(1));
    // One picture further, which a sampler that repeats brings back.
    float4 c = read_imagef(from, at, (convert_float2(i) + 0.5f) / size + 1);
    write_imagef(to, i, c);
}
kernel void border(read_only image2d_t from, sampler_t at, global float4 *to)
{
    int i = get_global_id(0);
    to[i] = read_imagef(from, at, (int2)(i - 1, 0));
}
kernel void halve(read_only image2d_t from, sampler_t at, global float4 *to)
{
    to[get_global_id(0)] = read_imagef(from, at, (float2)(1.0f, 0.5f));
}
kernel void whole(read_only image2d_t from, sampler_t at, global uint4 *to)
{
    to[get_global_id(0)] = read_imageui(from, at, (int2)(get_global_id(0), 0));
}
END
cat >through.lua <<'END'
local from = input("from", "uchar4")
local to = resource("to", "uchar4", from.width, from.height)
local move = pass {name = "through", read = {"a"}, write = {"b"},
    run = function(p)
        dispatch(kernel("i.cl", "through"),
                 {image(p.a), sampler {coordinates = "normalised", address = "repeat"},
                  image(p.b)}, {global = {from.width, from.height}})
    end}
move {a = from, b = to}
output("to", to)
END
"$PICTURE" 37 21 in.png || fail "no picture was made"
expect 0 '*' "$HEDDLE" run through.lua --in from=in.png --out to=out.png
"$PICTURE" in.png out.png || fail "another picture came through an image"

cat >texels.lua <<'END'
local what = setting("what", "border")
local a = resource("a", "float4", 2)
local row = resource("row", "float4", 2, 1)
local bytes = resource("bytes", "uchar4", 2, 1)
local to = resource("to", what == "whole" and "uint4" or "float4", 4)
write(row) fill(row, {1, 2, 3, 4}, {size = {1, 1}})
write(row) fill(row, {5, 6, 7, 8}, {size = {1, 1}, to = {1, 0}})
write(bytes) fill(bytes, {10, 20, 30, 40})
local look = pass {name = "look", read = {"row", "bytes"}, write = {"to"},
    run = function(p)
        clear(p.to)
        if what == "whole" then
            dispatch(kernel("i.cl", what), {image(p.bytes, {type = "uint8"}),
                     sampler {address = "clamp_to_edge"}, p.to}, {global = 4})
        else
            local linear = what == "halve"
            dispatch(kernel("i.cl", what), {image(p.row),
                     sampler {address = linear and "clamp_to_edge" or "clamp",
                              filter = linear and "linear" or "nearest"}, p.to},
                     {global = linear and 1 or 4})
        end
    end}
look {row = row, bytes = bytes, to = to}
output("to", to)
END
holds_numbers() {
    got=$(od -An -v -t"$2" to.raw | tr -s ' \n' ' ')
    [ "$got" = " $3 " ] || fail "$1: '$got', not ' $3 '"
}
expect 0 '*' "$HEDDLE" run texels.lua --out to=to.raw
holds_numbers border f4 "0 0 0 0 1 2 3 4 5 6 7 8 0 0 0 0"
expect 0 '*' "$HEDDLE" run texels.lua --out to=to.raw --set what=halve
holds_numbers halve f4 "3 4 5 6 0 0 0 0 0 0 0 0 0 0 0 0"
expect 0 '*' "$HEDDLE" run texels.lua --out to=to.raw --set what=whole
holds_numbers whole u4 "10 20 30 40 10 20 30 40 10 20 30 40 10 20 30 40"

# Several outputs of any kind in one run.
cat >many.lua <<'END'
local from = input("from", "uchar4")
local w, h = from.width, from.height
local a, b = resource("a", "uchar4", w, h), resource("b", "float", 3)
read(from) write(a) copy(from, a)
write(b) fill(b, 1.5)
output("a", a)
output("b", b)
output("from", from)
END
expect 0 '' "$HEDDLE" run many.lua --in from=in.png --out a=a.png --out b=b.npy \
    --out from=from.raw
"$PICTURE" in.png a.png || fail "another picture"
[ "$(tail -c 12 b.npy | od -An -tf4 | tr -s ' \n' ' ')" = " 1.5 1.5 1.5 " ] ||
    fail "b.npy is wrong"
[ "$(wc -c <from.raw)" -eq $((37 * 21 * 4)) ] || fail "from.raw is wrong"
