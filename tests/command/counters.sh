# What workers and units did: the report, the JSON and the trace of one run say
# the same, and it adds up to what ran.
. "$(dirname "$0")/common.sh"
needs_compiler
needs_lua
needs_images
command -v python3 >/dev/null || skip "python3 is not installed"

mkdir work
cd work || exit 1
cat >blur.cl <<'END_OF_FILE'
kernel void blur(global const uchar4 *from, global uchar4 *to)
{
    size_t i = get_global_id(0);
    size_t last = get_global_size(0) - 1;
    to[i] = from[i] / (uchar)2 + from[min(i + 1, last)] / (uchar)2;
}
END_OF_FILE
cat >p.lua <<'END_OF_FILE'
local image = input("map", "uchar4")
local count = image.width * image.height
local blur = kernel("blur.cl", "blur")
for i = 1, 5 do
    local to = resource("blurred " .. i, "uchar4", image.width, image.height)
    read(image) write(to) state(blur)
    dispatch({image, to}, {global = count, group = 16})
    image = to
end
output("image", image)
END_OF_FILE
"$PICTURE" 640 400 in.png || fail "no picture was made"

# 5 passes of 640 * 400 / 16 work-groups.
cat >check.py <<'END_OF_FILE'
import json, sys

report = json.load(open(sys.argv[1]))
events = json.load(open(sys.argv[2]))["traceEvents"]
units = int(sys.argv[3])
workers = report["workers"]


def total(key, of):
    return sum(one[key] for one in of)


assert len(workers) == 2 and len(report["units"]) == units, report
groups = total("groups", workers) + total("groups", report["units"])
leaves = total("leaves", workers) + total("leaves", report["units"])
assert groups == 5 * 640 * 400 // 16, report
assert 5 <= leaves <= groups, report
for one in workers:
    assert one["tasks"] >= one["stolen"], one
    assert one["parks"] > 0 or one["parked"] == 0, one
    assert one["leaves"] > 0 or one["busy"] == 0, one
assert total("tasks", workers) > 0, report
if units >= 2:  # with one, the worker that has none may have run everything
    assert total("leaves", report["units"]) > 0, report
for i, one in enumerate(report["units"]):
    assert sum(one["trips"]) == one["leaves"] and one["worker"] == i % 2, one

tracks = {e["tid"]: e["args"]["name"] for e in events
          if e["name"] == "thread_name"}
counters = {e["name"]: e["args"] for e in events if e["ph"] == "C" and e["pid"] == 1}
names = ["worker 0", "worker 1"] + [f"unit {i}" for i in range(units)]
assert sorted(counters) == sorted(names), counters
for name, own in counters.items():
    mine = [e for e in events if tracks.get(e.get("tid")) == name]
    chunks = [e for e in mine if e.get("cat") == "chunk"]
    assert len(chunks) == own["leaves"], (name, own)
    assert sum(e["args"]["work-groups"] for e in chunks) == \
        own["work-groups"], (name, own)
    if name.startswith("worker"):
        steals = [e for e in mine if e.get("cat") == "steal"]
        parks = [e for e in mine if e.get("cat") == "park"]
        assert len(steals) == own["stolen"] <= own["tasks"], (name, own)
        # Workers begin to sleep before the trace begins.
        assert len(parks) <= own["parks"], (name, own)
        assert sum(e["args"]["ns"] for e in parks) <= own["parked [ns]"]
    else:
        trips = sum(n for key, n in own.items() if "round trips" in key)
        assert trips == own["leaves"], (name, own)
assert sum(own["work-groups"] for own in counters.values()) == groups
END_OF_FILE

run() {
    expect 0 "" "$HEDDLE" run p.lua --in map=in.png --out image=out.png \
        --workers 2 "$@"
}
for units in 0 1 3; do
    # shellcheck disable=SC2046 # words
    run $([ $units = 0 ] || echo --units $units) --json --trace t.json
    python3 check.py "$folder/results/out" t.json $units ||
        fail "counters of 2 workers and $units units do not add up"
done
cp out.png units.png
run --units 1 --mailbox doorbell
"$PICTURE" units.png out.png || fail "a doorbell makes another image"
run --units 1 --stats
said "failed"
said "parked ms"
said "round trips"
run --stats
grep -q "round trips" "$folder/results/out" && fail "units that are not there"
"$PICTURE" units.png out.png || fail "units make another image"
exit 0
