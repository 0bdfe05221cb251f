# SIGINT and SIGTERM end a long run soon, cleanly and with a code of their own.
. "$(dirname "$0")/common.sh"
needs_lua
needs_images
[ "$SANITIZE" != thread ] ||
    skip "ThreadSanitizer holds signals back while the main thread waits"

mkdir work
cd work || exit 1
# Some minutes of copies.
cat >long.lua <<'END'
local map = input("map", "uchar4")
local a = resource("a", "uchar4", 4096, 4096)
local b = resource("b", "uchar4", 4096, 4096)
write(a) clear(a)
for i = 1, 20000 do
    read(a) write(b) copy(a, b)
    read(b) write(a) copy(b, a)
end
output("image", a)
END
"$PICTURE" 8 8 in.png || fail "no picture was made"

# Until it handles both signals, however long it takes to start, and a moment more.
moment=0.3
await_handlers() {
    tries=0
    until grep -qE '^SigCgt:.*[4-7c-f][0-9a-f]{2}[2367abef]$' "/proc/$child/status"; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || fail "no handlers in a minute: $(cat err)"
        sleep 0.05
    done
    sleep $moment
}

# Starts with the signals as a terminal's shell gives them, and sends the one
# named to it when it has begun.
cancelled() {
    "$@" 2>err &
    child=$!
    await_handlers
    kill "-$signal" "$child" || fail "$*: was not running any more"
    begin=$(date +%s)
    wait "$child"
    got=$?
    [ "$got" -eq "$wanted" ] || fail "SIG$signal: exit code $got, not $wanted"
    [ $(($(date +%s) - begin)) -le 30 ] || fail "SIG$signal: took too long"
}

clean="env --default-signal=INT --default-signal=TERM"
$clean true 2>/dev/null || skip "env cannot reset signals here"

wanted=130
for signal in INT TERM; do
    # shellcheck disable=SC2086
    cancelled $clean "$HEDDLE" run long.lua --in map=in.png \
        --out image=out.png --trace t.json
    [ "$(cat err)" = "heddle: cancelled" ] || {
        cat err >&2
        fail "SIG$signal: not exactly 'heddle: cancelled'"
    }
    holds . err in.png long.lua t.json
    rm -f err t.json
done

# A kernel that never ends, too.
if has has_compiler; then
    cat >endless.cl <<'END'
kernel void endless(global uchar4 *a, global const volatile int *stop)
{
    while (*stop == 0)
        ;
}
END
    cat >endless.lua <<'END'
local stop = resource("stop", "int", 64, 1)
local a = resource("a", "uchar4", 64, 64)
write(stop) clear(stop)
read(stop) write(a)
dispatch(kernel("endless.cl", "endless"), {a, stop}, {global = {64}})
output("image", a)
END
    signal=INT
    # shellcheck disable=SC2086
    cancelled $clean "$HEDDLE" run endless.lua --out image=out.png
    "$HEDDLE" run endless.lua --time-limit 100 --out image=out.png 2>err
    [ "$?" -eq 1 ] || fail "a time limit: not exit code 1"
    grep -q "'endless' was stopped" err || fail "a time limit: no word of it"
    rm -f endless.cl endless.lua err
fi

# A long kernel, for which the code generator takes a minute in one piece.
if has has_compiler; then
    {
        echo 'kernel void chain(global const float *a, global float *b, float c)'
        echo '{ size_t i = get_global_id(0); float x = 0;'
        awk 'BEGIN { for (k = 0; k < 5000; k++) print "x = x * c + a[i + " k "];" }'
        echo 'b[i] = x; }'
    } >chain.cl
    moment=1 # to get there
    for signal in INT TERM; do
        # shellcheck disable=SC2086
        cancelled $clean "$HEDDLE" build chain.cl
        [ "$(cat err)" = "heddle: cancelled" ] || fail "a build: $(cat err)"
        rm -f err
        [ ! -e chain.hdb ] || fail "a cancelled build left a binary"
    done
    rm -f chain.cl
fi

# The second one does not wait for anything: stopped meanwhile, both arrive.
signal=INT
# shellcheck disable=SC2086
$clean "$HEDDLE" run long.lua --in map=in.png --out image=out.png 2>err &
child=$!
await_handlers
kill -STOP "$child"
kill -INT "$child"
kill -TERM "$child"
kill -CONT "$child"
wait "$child"
got=$?
# Which of the two came second is the system's choice.
[ "$got" -eq 130 ] || [ "$got" -eq 143 ] || fail "two signals: code $got"
rm -f err
holds . in.png long.lua

# While a map is drawn that nobody reads to the end.
mkfifo pipe
exec 3<>pipe
# shellcheck disable=SC2086
$clean "$HEDDLE" info --svg --map "240x240 tiles 1x1 cyclic nodes 4" \
    2>err >pipe &
child=$!
dd bs=1 count=1 <&3 >first 2>/dev/null # it draws
kill -TERM "$child"
wait "$child"
got=$?
exec 3<&-
[ "$got" -eq 130 ] || fail "SIGTERM while drawing a map: exit code $got"
rm -f err first pipe

# While an image is written: nothing of it stays. A large picture of noise takes
# long enough to be caught at it.
cat >copy.lua <<'END'
local map = input("map", "uchar4")
local image = resource("image", "uchar4", map.width, map.height)
read(map) write(image) copy(map, image)
output("image", image)
END
"$PICTURE" 3000 3000 large.png || fail "no picture was made"
mkdir out
# shellcheck disable=SC2086
$clean "$HEDDLE" run copy.lua --in map=large.png --out image=out/o.png 2>err &
child=$!
while [ -z "$(ls -A out)" ]; do
    kill -0 "$child" 2>/dev/null || fail "no image was begun: $(cat err)"
done
kill -INT "$child"
wait "$child"
got=$?
[ "$got" -eq 130 ] || fail "SIGINT while writing: exit code $got"
[ -z "$(ls -A out)" ] || fail "SIGINT while writing left $(ls -A out)"

# While kernels are compiled: the compiler's process is ended with us.
cat >endless.cl <<'END'
#if __INCLUDE_LEVEL__ < 100
#include "endless.cl"
#include "endless.cl"
#endif
END
cat >endless.lua <<'END'
local endless = pass {
    name = "endless", write = { "to" }, state = kernel("endless.cl", "none"),
    run = function(p, state) dispatch(state, { p.to }, { global = { 1 } }) end
}
local a = resource("a", "uchar4", 8, 8)
endless { to = a }
output("image", a)
END
for words in "build endless.cl -o x.hdb" "run endless.lua --out image=o.png"; do
    # shellcheck disable=SC2086
    $clean "$HEDDLE" $words 2>err &
    child=$!
    compiler=
    while [ -z "$compiler" ]; do
        kill -0 "$child" 2>/dev/null || fail "$words: ended: $(cat err)"
        compiler=$(cat /proc/$child/task/*/children 2>/dev/null)
    done
    kill -INT "$child"
    wait "$child"
    got=$?
    [ "$got" -eq 130 ] || fail "$words: exit code $got: $(cat err)"
    for process in $compiler; do
        ! kill -0 "$process" 2>/dev/null || fail "$words: left a compiler"
    done
done
