# Graph programs through the command: what comes out, and what is said when they
# are wrong. Copies need no kernel compiler.
. "$(dirname "$0")/common.sh"
needs_lua
needs_images

mkdir work
cd work || exit 1
cat >p.lua <<'END'
local map = input("map", "uchar4")
local times = setting("times", 1, {min = 1})
local image = map
for i = 1, times do
    local next = resource("step " .. i, "uchar4", map.width, map.height)
    read(map)
    write(next)
    copy(map, next)
    image = next
end
output("image", image)
END

# An image comes out as it went in, whatever its size.
for size in '1 1' '1 9' '13 1' '37 21' '640 480'; do
    # shellcheck disable=SC2086
    "$PICTURE" $size in.png || fail "no picture was made"
    expect 0 "" "$HEDDLE" run p.lua --in map=in.png --out image=out.png
    "$PICTURE" in.png out.png || fail "$size: another image came out"
done
holds . p.lua in.png out.png

# What ran is said, in three forms.
expect 0 "" "$HEDDLE" run p.lua --in map=in.png --out image=out.png \
    --set times=3
said "p.lua: 3 passes in "
said "wrote image to out.png"
expect 0 "" "$HEDDLE" run p.lua --in map=in.png --out image=out.png --stats \
    --workers 1
said "work-items"
said "stolen"
said " ms, predicted "
said "moved MiB"
said "2.344~" # a copy reads and writes all texels
said "traffic: 0.0 MiB counted by the hardware, ~2.3 MiB estimated"
said "p.lua: 1 pass in "
said " on 1 worker,"
# Of a program that looks at results, too, which has run all of it before.
cat >halve.lua <<'END'
local x = resource("x", "float", 4194304)
local y = resource("y", "float", 4194304)
write(x) fill(x, 64)
if setting("start", false) then start() end
repeat
    write(y) fill(y, values(x, 1, 1)[1] / 2)
    read(y) write(x) copy(y, x)
until values(x, 1, 1)[1] < 1
output("x", x)
END
for start in true false; do
    expect 0 "" "$HEDDLE" run halve.lua --set start=$start --out x=x.npy --stats
    said "halve.lua: 15 passes in "
    if grep -q " passes in 0\.0 ms" "$folder/results/out"; then
        fail "what was run before the end is not told"
    fi
done
rm halve.lua x.npy
# On one named processor: the first of those that may be used.
core=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
expect 0 "" "$HEDDLE" run p.lua --in map=in.png --out image=out.png --stats \
    --cores "$core"
said " on 1 worker,"
expect 1 "'0-' is no list of processors" "$HEDDLE" run p.lua --in map=in.png \
    --cores 0-
expect 0 "" "$HEDDLE" run p.lua --in map=in.png --out image=out.png --json
if command -v python3 >/dev/null; then
    python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
assert len(report["passes"]) == 1 and report["workers"], report
one = report["passes"][0]
assert one["bytes"] == 2 * 4 * 640 * 480 and not one["counted"], one
assert report["outputs"] == [{"name": "image", "file": "out.png"}], report
assert report["times"]["total"] >= report["times"]["run"] > 0, report
schedule = report["schedule"]
assert report["times"]["run"] >= schedule["makespan"] > 0, report
assert schedule["predicted"] >= schedule["critical_path"] > 0, report
' "$folder/results/out" || fail "run --json is not what it should be"
fi
expect 0 "heddle: note: output 'image' is not written" \
    "$HEDDLE" run p.lua --in map=in.png

# An image on standard output is alone there.
"$HEDDLE" run p.lua --in map=in.png --out image=- >piped.png 2>err ||
    fail "--out image=- failed"
"$PICTURE" in.png piped.png || fail "--out image=- gave another image"
grep -q 'p.lua: 1 pass in' err || fail "--out image=- lost what ran"
rm -f piped.png err out.png

# JPEG by the name.
expect 0 "" "$HEDDLE" run p.lua --in map=in.png --out image=out.JPG
[ "$(head -c 2 out.JPG | od -An -tx1 | tr -d ' ')" = ffd8 ] ||
    fail "out.JPG is no JPEG"
rm -f out.JPG

# The graph alone, and with its times.
expect 0 "" "$HEDDLE" graph p.lua --in map=in.png
said digraph
expect 0 "" "$HEDDLE" graph p.lua --in map=in.png --json -o g.json
[ ! -s "$folder/results/out" ] || fail "graph -o wrote to standard output"
if command -v python3 >/dev/null; then
    python3 -m json.tool g.json >/dev/null || fail "graph --json is no JSON"
fi
expect 0 '*' "$HEDDLE" run p.lua --in map=in.png --dot g.dot --trace t.json
grep -q digraph g.dot || fail "--dot wrote no graph"
if command -v python3 >/dev/null; then
    python3 -m json.tool t.json >/dev/null || fail "--trace wrote no JSON"
fi
rm -f g.json g.dot t.json

# Mistakes: the program, the line, what to do; nothing is written.
cp in.png kept.png
mistake() {
    says=$1
    shift
    expect 1 "$says" "$HEDDLE" run "$@" --out image=kept.png
    "$PICTURE" in.png kept.png || fail "$*: a file that was there is lost"
    grep -q '^heddle: ' "$folder/results/err" || fail "$*: no 'heddle: '"
}
program() {
    cat >wrong.lua
}

mistake "nothing.lua" nothing.lua
mistake "p.lua:1: input 'map' is missing" p.lua
mistake "no input 'moon'" p.lua --in map=in.png --in moon=in.png
mistake "no setting 'tims'" p.lua --in map=in.png --set tims=2
mistake "setting 'times'" p.lua --in map=in.png --set times=many
expect 1 "p.lua has no output 'imag'; it has 'image'" \
    "$HEDDLE" run p.lua --in map=in.png --out imag=o.png

if "$HEDDLE" info --json | grep -q '"gpus": *0'; then
    mistake "--device" p.lua --in map=in.png --device gpu
fi
program <<'END'
local map = input("map")
local x = = 2
END
mistake "wrong.lua:2:" wrong.lua --in map=in.png
program <<'END'
local map = input("map")

error("no such star")
END
mistake "wrong.lua:3: no such star" wrong.lua --in map=in.png
program <<'END'
local map = input("map")
while true do
end
END
mistake "wrong.lua" wrong.lua --in map=in.png
program <<'END'
local map = input("map")
local image = resource("image", "uchar4", map.width, map.height)
local copier = pass {name = "copier", read = {"from"}, write = {"to"},
                     run = function(p) copy(p.from, p.to) end}
local other = resource("other", "uchar4", map.width, map.height)
local one = copier {from = map, to = image}
local two = copier {from = map, to = other}
order(one, two)
order(two, one)
output("image", image)
END
mistake "passes wait for each other" wrong.lua --in map=in.png
program <<'END'
local map = input("map")
local image = resource("image", "int", 4)
read(map) write(image) clear(image)
output("image", image)
END
mistake "output 'image' has elements of type int" wrong.lua --in map=in.png
rm -f wrong.lua
holds . p.lua in.png kept.png

# Targets that fill up. Small images fail when flushed, large while written.
if [ -w /dev/full ]; then
    "$PICTURE" 700 700 large.png || fail "no picture was made"
    for image in in.png large.png; do
        expect 1 "heddle: cannot write /dev/full: No space left on device" \
            "$HEDDLE" run p.lua --in map=$image --out image=/dev/full
    done
    expect 1 "heddle: cannot write standard output: No space left on device" \
        sh -c '"$HEDDLE" run p.lua --in map=large.png --out image=- >/dev/full'
    expect 1 "heddle: cannot write /dev/full: No space left on device" \
        "$HEDDLE" run p.lua --in map=in.png --trace /dev/full
fi
if small_disk small; then
    "$PICTURE" 700 700 large.png || fail "no picture was made"
    for name in o.png o.jpg; do
        expect 1 "heddle: cannot write small/$name: No space left on device" \
            "$HEDDLE" run p.lua --in map=large.png --out "image=small/$name"
    done
    small_disk_end
fi
