# Kernels in gdb: stepping, variables, work-items.
. "$(dirname "$0")/common.sh"
needs_compiler
needs_lua
needs_images
[ -z "$SANITIZE" ] || skip "the sanitizers do not run in a debugger"
command -v gdb >/dev/null || skip "there is no gdb"
gdb -batch -ex "python print(6 * 7)" 2>/dev/null | grep -q 42 ||
    skip "this gdb has no Python"
gdb -batch -ex run --args true 2>&1 | grep -q "exited normally" ||
    skip "gdb may not trace processes here"

cat >twist.cl <<'END'
int twice(int x)
{
    int y = x * 2;
    return y;
}

kernel void twist(global const uchar4 *from, global uchar4 *to)
{
    local int tile[4];
    int i = (int)get_global_id(0), at = (int)get_local_id(0);
    int mine = twice(i + 100);

    tile[at] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    int other = tile[at ^ 1];
    mine += 1;
    to[i] = (uchar4)(other + mine);
}
END
cat >p.lua <<'END'
local map = input("map", "uchar4")
local twist = kernel("twist.cl", "twist")
local to = resource("to", "uchar4", map.width, map.height)
read(map) write(to) state(twist)
dispatch({map, to}, {global = 8, group = 4})
output("to", to)
END
"$PICTURE" 8 1 in.png || fail "no picture was made"

debug() {
    gdb -batch -nx -x "$SOURCE/share/heddle-gdb.py" \
        -ex "set breakpoint pending on" -ex "set width 0" "$@" \
        --args "$HEDDLE" run --debug p.lua --in map=in.png --out to=to.png \
        >out 2>&1
}
has() {
    grep -qE -- "$1" out || {
        cat out >&2
        fail "gdb did not say '$1'"
    }
}

# Line by line, with variables of all kinds.
debug -ex "break twist.cl:13" -ex run -ex "print i" -ex "print mine" \
    -ex "print at" -ex "step" -ex "print tile[0]" -ex "print tile[1]" \
    -ex "info args" -ex "bt 1"
has 'twist.cl:13'
has '^\$1 = 0$'
has '^\$2 = 200$'
has '^\$3 = 0$'
has '^14.*barrier'
has '^\$4 = 200$'
has '^\$5 = -1515870811$' # fresh memory: 0xa5a5a5a5
has '^from = '
has '#0 .*twist.*from=.*to='

# A function that was inlined.
debug -ex "break twist.cl:4" -ex run -ex "print y" -ex "bt 2"
has '^\$1 = 200$'
has '#0 .*twice'
has '#1 .*twist'

# One work-item, and what the others do.
debug -ex "heddle break twist.cl:15 6" -ex run -ex "print i" \
    -ex "heddle items" -ex "heddle item 7 print mine" \
    -ex "heddle item 5 print mine" -ex "heddle item 9 print i" \
    -ex "print mine" -ex "delete" -ex "continue"
has '^\$1 = 6$'
has '^  \(4, 0, 0\) ended$'
has '^\* \(6, 0, 0\) runs$'
has '^  \(7, 0, 0\) waits at line 14$'
has '^\$2 = 214$'
has 'work-item \(5, 0, 0\) stands nowhere'
has 'work-item \[9\] is not in the group'
has '^\$3 = 212$'
has 'exited normally'

# A variable of a work-item that waits.
debug -ex "heddle break twist.cl:15 4" -ex run -ex "heddle watch mine 7" \
    -ex "continue" -ex "print i"
has 'Old value = 214'
has 'New value = 215'
has '^\$1 = 7$'
