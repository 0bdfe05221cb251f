# heddle report and what it is made of: the trace with the graph in it, DOT with
# units and critical path. Fills need no kernel compiler.
. "$(dirname "$0")/common.sh"
needs_lua
mkdir work
cd work || exit 1

# P1 feeds P2 to P4, these feed P5; one name would end a script of the page.
cat >p.lua <<'END'
local made = {}
for i = 1, 6 do made[i] = resource("r" .. i, "float", 65536 * i) end
write(made[2]) fill(made[2], 1)
for i = 3, 5 do
    read(made[2]) write(made[i]) fill(made[i], i)
end
local last = pass {
    name = "</script><b>last", read = {"a", "b", "c"}, write = {"to"},
    run = function(p) fill(p.to, 2) end }
last {a = made[3], b = made[4], c = made[5], to = made[6]}
output("last", made[6])
END
expect 0 '*' "$HEDDLE" run p.lua --workers 2 --trace t.json --report run.html \
    --dot g.dot
expect 0 "" "$HEDDLE" report t.json -o page.html
expect 0 "" "$HEDDLE" report t.json
cmp "$folder/results/out" page.html || fail "report prints another page"
holds . g.dot p.lua page.html run.html t.json

grep -q 'subgraph cluster_0' g.dot || fail "--dot names no unit"
grep -q 'label="worker [01]"' g.dot || fail "--dot has no cluster of a worker"
[ "$(grep -c 'color=red' g.dot)" -eq 3 ] ||
    fail "--dot does not mark P1, one of P2 to P4, and P5"
grep -q 'http' page.html && grep 'http' page.html | grep -v 'www.w3.org' &&
    fail "the page names a place in the network"
[ "$(grep -c '</script>' page.html)" -eq 2 ] || fail "a name ended a script"

wrong_trace() {
    printf '%s' "$2" >bad.json
    expect 1 "$1" "$HEDDLE" report bad.json -o bad.html
    [ ! -e bad.html ] || fail "a page was made of a bad trace"
    rm bad.json
}
wrong_trace "bad.json is no trace, or not whole" ""
wrong_trace "bad.json is no trace, or not whole" "hello"
wrong_trace "bad.json is no trace, or not whole" "$(head -c 2000 t.json)"
wrong_trace "bad.json has no graph in it" '{"traceEvents":[]}'
expect 1 "nowhere.json" "$HEDDLE" report nowhere.json
expect 2 "no TRACE.json given" "$HEDDLE" report

command -v python3 >/dev/null || skip "the data are not checked without python3"
cat >check.py <<'END'
import json, re, sys

def look(data):
    graph, events = data["heddle"], data["traceEvents"]
    passes = graph["passes"]
    assert len(passes) == 5 and passes[4]["name"] == "</script><b>last"
    assert [r["name"] for r in graph["resources"]] == ["r2", "r3", "r4", "r5", "r6"]
    edges = sorted((e["from"], e["to"], e["kind"]) for e in graph["edges"])
    assert edges == sorted([(0, i, "read") for i in (1, 2, 3)] +
                           [(i, 4, "read") for i in (1, 2, 3)]), edges
    for e in graph["edges"]:
        assert passes[e["from"]]["end_ns"] <= passes[e["to"]]["begin_ns"]
    critical = [i for i, p in enumerate(passes) if p.get("critical")]
    assert len(critical) == 3 and critical[0] == 0 and critical[2] == 4
    for p in passes:
        assert p["unit"].startswith("worker ") and not p["earlier"]
    schedule = graph["schedule"]
    assert schedule["makespan_ns"] >= max(p["end_ns"] for p in passes)
    assert 0 < schedule["critical_path_ns"] <= schedule["predicted_ns"]

    # Memory: what is alive in steps, from the passes and the sizes.
    size = {r["id"]: r["bytes"] for r in graph["resources"]}
    steps = graph["memory"]
    assert [s["time_ns"] for s in steps] == sorted(s["time_ns"] for s in steps)
    assert steps[0]["bytes"] == 2 * 65536 * 4
    assert steps[-1]["bytes"] == 6 * 65536 * 4 # the output stays
    assert max(s["bytes"] for s in steps) <= schedule["live_bytes"]

    # The trace: a slice per pass, from slice to slice an arrow per wait, counters.
    lanes = {e["args"]["pass"]: e for e in events
             if e.get("cat") == "graph" and e["ph"] == "X"}
    assert sorted(lanes) == [0, 1, 2, 3, 4]
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert len(starts) == len(ends) == 6
    for i, start in starts.items():
        edge = graph["edges"][i]
        a, b = lanes[edge["from"]], lanes[edge["to"]]
        assert start["tid"] == a["tid"] and ends[i]["tid"] == b["tid"]
        assert abs(start["ts"] - a["ts"] - a["dur"]) < 0.002, (start, a)
        assert abs(ends[i]["ts"] - b["ts"]) < 0.002
    for x in lanes.values():
        for y in lanes.values():
            if x is not y and x["tid"] == y["tid"]:
                assert (x["ts"] + x["dur"] <= y["ts"] + 0.002 or
                        y["ts"] + y["dur"] <= x["ts"] + 0.002), (x, y)
    memory = [e for e in events if e["name"] == "memory" and e["ph"] == "C"]
    assert [e["args"]["live bytes"] for e in memory] == [s["bytes"] for s in steps]

look(json.load(open("t.json")))
for page in "page.html", "run.html":
    text = open(page).read()
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>',
                      text, re.S)
    look(json.loads(found.group(1)))
END
python3 check.py || fail "the trace or a page is not what it should be"
