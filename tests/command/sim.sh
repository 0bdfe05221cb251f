# heddle sim from outside: options, files that are wrong, results, recordings,
# timelines.
. "$(dirname "$0")/common.sh"

needs_lua
examples=$SOURCE/examples/sim
python=$(command -v python3)
[ -n "$python" ] || echo "note: no python3; JSON and the terminal not tried"

# Options ----------------------------------------------------------------------

expect 2 "heddle sim: no WORKLOAD given; see heddle sim --help" "$HEDDLE" sim
expect 2 "unexpected argument 'b.workload'" "$HEDDLE" sim a.workload b.workload
expect 2 "give one of the two" "$HEDDLE" sim a.workload --csv b.csv
expect 2 "option '--seed' given twice" "$HEDDLE" sim a --seed 1 --seed 2
expect 2 "exclude each other" "$HEDDLE" sim a --seed 1 --seeds 2-3
for option in "--cycles 0" "--cycles 9223372036854775808" "--seed x" \
    "--seeds 3-2" "--jobs 0" "--jobs 4097" "--load 0" "--load nan" "--timeline-limit 0"; do
    # shellcheck disable=SC2086
    expect 2 "$option: not a value it can have" \
        "$HEDDLE" sim a.workload $option
done
expect 2 "a timeline is of one policy and one seed" \
    "$HEDDLE" sim a.workload --timeline t.json --seeds 1-2
expect 0 "" "$HEDDLE" sim --help
said "patience=N"
expect 1 "a.workload" "$HEDDLE" sim a.workload

# Wrong files: file, line, reason ----------------------------------------------

cat >small.machine <<END
name = "small"
modules = 2
units = 2
waves = 4
resource { "registers", 4096, "unit", "contiguous" }
resource { "memory", 64, "module", "contiguous" }
END
workload() {
    printf '%s\n' "cycles = 1000" "machine = 'small.machine'" "$@" >small.workload
}
refuses() {
    expect 1 "$1" "$HEDDLE" sim small.workload
}

workload "kernel { 0, run = 10, registers = 4096, memory = 64 }" # all of a unit
expect 0 "" "$HEDDLE" sim small.workload
workload "kernel { 0, run = 10, registers = 4097 }"
refuses "small.workload:3: resource 'registers': a group needs 4097 blocks of one unit, which has 4096"
workload "kernel { 0, run = 10, waves = 3, registers = 2049 }" # two waves on one unit
refuses "small.workload:3: resource 'registers': a group needs 4098 blocks"
workload "kernel { 0, run = 10, memory = 65 }"
refuses "small.workload:3: resource 'memory': a group needs 65 blocks of one module, which has 64"
workload "kernel { 0, run = 10, waves = 9 }"
refuses "small.workload:3: a group of 9 waves; a module holds 8"
workload "kernel { 0, run = 10, registers = 1 }" "kernel { 0, run = 'ten' }"
refuses "small.workload:4: run: 'ten' is not a whole number"
workload "kernel { 0, run = 10 }" "cycles = 2000"
refuses "small.workload:4: 'cycles' is given twice, first on line 1"
expect 1 "names no machine" "$HEDDLE" sim "$examples/standard.machine"
workload "kernel { 0, run = 10 }"
sed 's/4096/32769/' small.machine >large.machine
expect 1 "large.machine:5: blocks: 32769 is not within 1 to 32768" \
    "$HEDDLE" sim small.workload --machine large.machine
printf 'modules = 2\nunits = {}\n' >cut.machine
expect 1 "cut.machine:2: units is missing" \
    "$HEDDLE" sim small.workload --machine cut.machine

# What is measured of this machine can be simulated.
expect 0 "*" "$HEDDLE" info --calibrate
cp results/out this.machine
printf 'cycles = 1000\nkernel { 0, run = 10, slots = 1, mix = { load = 1 } }\n' >this.workload
expect 0 "" "$HEDDLE" sim this.workload --machine this.machine

# The example of the documentation.
sed -n '/^```lua/,/^```/p' "$SOURCE/docs/dispatch.md" | sed '1d;$d' >docs.machine
printf 'cycles = 1000\nkernel { 0, run = 10, vector = 128, memory = 4 }\n' >docs.workload
expect 0 "" "$HEDDLE" sim docs.workload --machine docs.machine

# Results ----------------------------------------------------------------------

run() {
    expect 0 "" "$HEDDLE" sim "$examples/standard-1.3.workload" \
        --cycles 20000 "$@"
}

is_json() {
    [ -z "$python" ] || "$python" - "$@" || fail "$1: see above"
}

# All but the time it took.
of_seed() {
    run --policy balanced --seed "$1" --json
    sed 's/"seconds":[^}]*//; s/"seed":[0-9]*//' results/out
}
of_seed 3 >first
of_seed 3 >second
of_seed 4 >third
cmp -s first second || fail "equal seeds, other results"
cmp -s first third && fail "another seed, equal results"
run --policy sticky --policy robin --policy strict --policy bestfit \
    --policy plain --policy balanced --seeds 1-3 --json
is_json results/out <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) == 6 * 4, len(lines)  # a line per seed, and the medians
END
# However many threads there are: the same lines in the same order.
of_jobs() {
    run --policy balanced --seeds 1-9 --json --jobs "$1"
    sed 's/"seconds":[^}]*//' results/out
}
of_jobs 1 >first
of_jobs 4 >second
cmp -s first second || fail "other results on 4 threads"
run --policy plain
said "20000 cycles, seeds 1 to 1"
said "plain"

# Names are the user's.
sed 's/^name .*/name = "a\\\\b %s"/' small.machine >odd.machine
printf '%s\n' 'name = "c\\d\t"' | cat - small.workload >odd.workload
expect 0 "" "$HEDDLE" sim odd.workload --machine odd.machine --json
is_json results/out <<'END'
import json, sys
json.loads(open(sys.argv[1]).read())
END

# Cycles as far as they are counted: nothing overflows.
end=2305843009213693952
workload "kernel { 0, run = $end, groups = 20, waves = 8, independent = true }" \
    "kernel { 1, at = $end, run = $end, registers = 9 }" \
    "kernel { 1, at = 1152921504606846976, priority = 2, run = $end, registers = 4096 }" \
    "kernel { 1, priority = 4, run = { 1, to = $end }, groups = 20, registers = 3000 }"
for policy in plain balanced plain,patience=$end; do
    expect 0 "" "$HEDDLE" sim small.workload --cycles $end --policy $policy \
        --json
    ! grep -q -e ':-' -e nan -e inf results/out ||
        fail "$policy: $(cat results/out)"
done

# Timelines --------------------------------------------------------------------

run --timeline t.json
is_json t.json <<'END'
import collections, json, sys
trace = json.load(open(sys.argv[1]))
assert trace["otherData"]["groups left out"] == 0
tracks = collections.defaultdict(list)
names = set()
for e in trace["traceEvents"]:
    if e["ph"] == "X":
        tracks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    elif e["ph"] == "M":
        names.add(e["pid"])
    else:
        assert e["ph"] == "C" and e["args"]["waiting"] >= 0, e
assert tracks and {pid for pid, _ in tracks} <= names
for spans in tracks.values():  # as Perfetto draws them: none over another
    spans.sort()
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), spans
END
run --timeline t.json --timeline-limit 5
[ "$(grep -c '"ph":"X"' t.json)" -eq 5 ] || fail "not 5 groups shown"
is_json t.json <<'END'
import json, sys
assert json.load(open(sys.argv[1]))["otherData"]["groups left out"] > 0
END
expect 1 "nowhere/t.json" "$HEDDLE" sim small.workload --timeline nowhere/t.json

# Recordings -------------------------------------------------------------------

queue=queue
scale=1410000
convert() {
    "$HEDDLE" sim --csv "$examples/recorded.csv" --arrival submitted_ms \
        --duration ran_ms --channel "$queue" --priority urgency --waves warps \
        --groups blocks --time-scale "$scale" \
        --need 'registers=registers*0.125' --need shared=shared_kb "$@"
}
expect 0 "" convert -o recorded.workload
expect 0 "" convert
cmp -s recorded.workload results/out || fail "a file is not what is printed"
expect 0 "" "$HEDDLE" sim recorded.workload --machine "$examples/a100.machine"
expect 2 "--need registers: " convert --need registers
expect 1 "nowhere/r.workload" convert -o nowhere/r.workload
queue=colour
expect 1 "recorded.csv:1: no column 'colour'" convert
queue=queue scale=0
expect 2 "--time-scale 0: not a value" convert
expect 1 "none.csv" "$HEDDLE" sim --csv none.csv --arrival a --duration b

# The terminal -----------------------------------------------------------------

# A progress line is for eyes: on a terminal, and it is gone at the end.
if [ -n "$python" ]; then
    "$python" - "$HEDDLE" "$examples/standard-1.3.workload" <<'END' ||
import os, pty, subprocess, sys
main, other = pty.openpty()
child = subprocess.Popen([sys.argv[1], "sim", sys.argv[2], "--cycles", "20000000"],
                         stdout=subprocess.DEVNULL, stderr=other)
os.close(other)
said = b""
try:
    while chunk := os.read(main, 4096):
        said += chunk
except OSError:
    pass
assert child.wait() == 0
assert b"%" in said and b"\n" not in said and said.endswith(b" \r"), said
END
        fail "the progress line"
fi
