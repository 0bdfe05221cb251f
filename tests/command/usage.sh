# A wrong command line: one message, exit code 2, nothing done.
. "$(dirname "$0")/common.sh"

wrong() {
    text=$1
    shift
    expect 2 "$text" "$HEDDLE" "$@"
    [ "$(wc -l <"$folder/results/err")" -eq 1 ] || fail "$*: not one line"
}

expect 2 "Usage: heddle COMMAND" "$HEDDLE"
wrong "heddle: unknown command 'fly'; see heddle --help" fly
wrong "heddle: unknown option '--fly'; see heddle --help" --fly

for command in info run graph build cl report sim; do
    wrong "heddle $command: unknown option '--foo'; see heddle $command --help" \
        "$command" --foo
    wrong "heddle $command: unknown option '-x'" "$command" -x
    expect 0 "" "$HEDDLE" "$command" --help
    said "Usage: heddle $command"
done
wrong "heddle info: unexpected argument 'y'" info x y
wrong "heddle info: option '--json' given twice" info --json --json
wrong "heddle info: option '--json' takes no value" info --json=yes

wrong "heddle info: unknown option '--js'" info --js
wrong "heddle info: option '--help' takes no value" info --help=me

wrong "heddle run: no PROGRAM.lua given" run
wrong "heddle run: unexpected argument 'b.lua'" run a.lua b.lua
wrong "heddle run: option '--in' needs NAME=FILE after it" run a.lua --in
wrong "heddle run: option '--in' takes NAME=FILE, not 'map'" run a.lua --in map
wrong "heddle run: option '--out' takes NAME=FILE, not '=x'" run a.lua --out =x
wrong "heddle run: option '--in map=...' given twice" \
    run a.lua --in map=1 --in map=2
wrong "heddle run: option '--set n=...' given twice" \
    run a.lua --set n=1 --set n=1
wrong "heddle run: option '--trace' given twice" run a.lua --trace a --trace b
wrong "heddle run: option '--device' is cpu|gpu|all|null, not 'tpu'" \
    run a.lua --device tpu
for number in 0 -1 1.5 two '' 99999999999999999999; do
    wrong "heddle run: option '--workers' takes a number from 1, not '$number'" \
        run a.lua --workers "$number"
done
wrong "heddle graph: --dot and --json exclude each other" \
    graph a.lua --dot --json
wrong "heddle build: no KERNEL.cl given" build -D N=4
wrong "heddle build: option '-o' needs FILE after it" build a.cl -o

expect 0 "" "$HEDDLE" --help
for command in info run graph build cl report sim; do
    said "  $command "
done
expect 0 "" "$HEDDLE" --version
grep -qE '^heddle [0-9]+\.[0-9]+\.[0-9]+$' "$folder/results/out" ||
    fail "--version does not print the version"

expect 0 "" "$HEDDLE" info
# The MPIs it tells of are those that there are modules for.
modules=$(find "$BUILD/lib/heddle" -name 'heddle_mpi_*.so' 2>/dev/null | wc -l)
named=$(sed -n 's/^transport *mpi: programs started by //p' \
    "$folder/results/out" | tr ',' '\n' | grep -c .)
[ "$named" -eq "$modules" ] || fail "info names $named of $modules MPIs"
grep -q '^transport *self: ' "$folder/results/out" || fail "info without self"
expect 0 "" "$HEDDLE" info --json
grep -q '^{.*}$' "$folder/results/out" || fail "info --json is no JSON object"

# A resource map is drawn; a wrong one is named.
expect 0 "" "$HEDDLE" info --map "6x6 tiles 2x2 cyclic nodes 4"
grep -qx 330011 "$folder/results/out" || fail "info --map draws no owners"
expect 0 "" "$HEDDLE" info --map "6x6 tiles 2x2 cyclic nodes 4" --svg
[ "$(grep -c '<rect' "$folder/results/out")" -eq 9 ] ||
    fail "info --map --svg does not draw nine segments"
expect 1 "map: 'tile': is no word of a map" "$HEDDLE" info --map "6x6 tile 2"
wrong "heddle info: --svg belongs to --map" info --svg
wrong "heddle info: --map is about neither" info --map 6x6 --json

# What cannot be printed is a failure.
if [ -w /dev/full ]; then
    for words in --help --version info 'info --json' 'run --help'; do
        # shellcheck disable=SC2086
        "$HEDDLE" $words >/dev/full 2>err
        [ $? -eq 1 ] || fail "$words to a full device did not fail"
        grep -qF 'heddle: cannot write standard output: No space left' err ||
            fail "$words to a full device did not say so"
    done
fi

# With standard output closed, nothing else takes its place.
"$HEDDLE" info >&- 2>err
[ $? -eq 1 ] || fail "info without standard output did not fail"
grep -qF 'heddle: cannot write standard output' err ||
    fail "info without standard output did not say so"
