# heddle cl: which program it runs, and on what.
. "$(dirname "$0")/common.sh"

expect 2 "no PROGRAM given" "$HEDDLE" cl
expect 2 "no PROGRAM given" "$HEDDLE" cl --
expect 2 "unknown option '--fast'" "$HEDDLE" cl --fast clinfo
expect 0 "" "$HEDDLE" cl --help
said "Usage: heddle cl"

expect 2 "option '--trace' needs FILE after it" "$HEDDLE" cl --trace

[ -f "$BUILD/lib/libheddle-opencl.so" ] || {
    expect 1 "libheddle-opencl.so is not beside" "$HEDDLE" cl -- true
    skip "no driver: opencl-headers were not there"
}
expect 127 "cannot be started" "$HEDDLE" cl -- no-such-program-here
expect 126 "cannot be started" "$HEDDLE" cl -- /dev/null
# The program's own words and exit status.
expect 7 "" "$HEDDLE" cl sh -c 'exit 7'
expect 0 "" "$HEDDLE" cl -- sh -c 'echo "$1 $OCL_ICD_VENDORS"' sh --one
said "one"
said "libheddle-opencl.so"
expect 0 "" "$HEDDLE" cl --as-gpu -- sh -c 'echo "as a GPU: $HEDDLE_AS_GPU"'
said "as a GPU: 1"
expect 0 "" "$HEDDLE" cl --guard -- sh -c 'echo "with guard: $HEDDLE_GUARD"'
said "with guard: 1"

[ -z "$SANITIZE" ] || skip "a driver with $SANITIZE loads into nothing else"
command -v clinfo >/dev/null || skip "clinfo is not there; not run on the driver"
expect 0 "" "$HEDDLE" cl -- clinfo -l
said "Heddle"
expect 0 "" "$HEDDLE" cl -- clinfo
said "OpenCL 3.0 Heddle"
if [ -x "$BUILD/bin/queue_test" ]; then
    expect 0 "" "$HEDDLE" cl --trace t.json -- "$BUILD/bin/queue_test"
    grep -q '"step"' t.json || fail "the trace has no kernel of the program"
fi
