# Graph programs over fields: the same picture for all nodes and layouts, and
# what is refused.
. "$(dirname "$0")/common.sh"
needs_lua
needs_compiler

heat=$SOURCE/examples/heat/heat.lua
run() { # file, then options
    file=$1
    shift
    expect 0 '*' "$HEDDLE" run "$heat" --set steps=9 --set every=4 \
        --set width=61 --set height=43 --out end="$file" --out 1=one.raw "$@"
}
run whole.raw
[ "$(wc -c <whole.raw)" -eq $((61 * 43 * 4)) ] || fail "not all was written"
cp one.raw first.raw
for nodes in 2 5; do
    run parts.raw --nodes $nodes
    cmp whole.raw parts.raw || fail "another picture on $nodes nodes"
    cmp first.raw one.raw || fail "another first picture on $nodes nodes"
done
# Parts of the machine as nodes.
for nodes in numa cpu,numa; do
    run parts.raw --nodes $nodes
    cmp whole.raw parts.raw || fail "another picture on $nodes"
done
expect 1 "several of these with commas between, not 'disk'" "$HEDDLE" run "$heat" \
    --nodes numa,disk
for layout in 'tiles 7x9 cyclic' 'tiles 43x5 block memory 6x5 tasks 3x5' \
    'tiles 8x8 mesh 3x1' 'tiles 43x61 nodes 1'; do
    run parts.raw --nodes 3 --set layout="$layout"
    cmp whole.raw parts.raw || fail "another picture for $layout"
done

cat >k.cl <<END
kernel void turn(global const int *from, global int *to, int by)
{
    int i = get_global_id(0), n = get_global_size(0);
    to[i] = from[(i + by) % n] + from[n - 1 - i];
}
kernel void twice(global int *a, global int *b)
{
    a[get_global_id(0)] = b[get_global_id(0)] = 1;
}
kernel void add(global int *a, global const int *b)
{
    a[get_global_id(0)] += b[0];
}
END
# Copies, fills, fields laid out again, results that steer the program, and
# memory that every process has beside fields.
cat >all.lua <<END
local a = field("a", "int", 40)
overwrite(a) fill(a, 3)
local b = agile(a, "tiles 3 cyclic")
local one = resource("one", "int", 2)
overwrite(one) fill(one, 5)
local add = kernel("k.cl", "add")
read(b, one) write(b)
forall(add, {b, one})
local c = field("c", "int", 40, "tiles 7 cyclic")
overwrite(c) read(b)
forall(kernel("k.cl", "turn"), {b, c, 11})
print(table.concat(values(c), " "))
local n = values(c, 7, 1)[1]
read(c, one) write(c)
for i = 1, n do
  read(c, one) write(c)
  forall(add, {c, one})
end
local d = gather(c)
local e = resource("e", "int", 40)
read(d) overwrite(e) copy(d, e)
output("e", e)
output("c", c)
overwrite(b) clear(b)
output("b", b)
END
# The same while all of it joins a run that is under way.
{
    echo 'start()'
    cat all.lua
} >joins.lua
for run in '1 all.lua' '4 all.lua' '1 joins.lua' '4 joins.lua'; do
    expect 0 '' "$HEDDLE" run "${run#* }" --nodes "${run% *}" --out c=c.raw \
        --out e=e.raw --out b=b.raw
    [ "$(od -An -v -t d4 c.raw | tr -s ' \n' '\n\n' | sort -u | tr -d '\n')" = 96 ] ||
        fail "c is not 40 times 16 + 16 * 5"
    cmp c.raw e.raw || fail "what was gathered is not what was written"
    [ "$(tr -d '\0' <b.raw | wc -c)" -eq 0 ] || fail "b was not cleared"
done

# Work-groups that tasks cut: each element is added to once, and the two that are
# beyond the range not at all.
cat >groups.lua <<END
local one = resource("one", "int", 1)
local a = field("a", "int", 22, "tiles 11 block tasks 5")
overwrite(one) fill(one, 1)
overwrite(a) fill(a, 2)
read(a, one) write(a)
dispatch(kernel("k.cl", "add"), {a, one}, {global = 20, group = 4})
output("a", a)
END
for nodes in 1 2; do
    expect 0 '' "$HEDDLE" run groups.lua --nodes $nodes --out a=a.raw
    [ "$(od -An -v -t d4 a.raw | tr -d ' \n')" = 3333333333333333333322 ] ||
        fail "groups over $nodes nodes: $(od -An -v -t d4 a.raw)"
done

bad() { # message, program
    echo "$2" >bad.lua
    expect 1 "$1" "$HEDDLE" run bad.lua --nodes 2
}
bad 'a whole number was expected' 'field("a", "int", 8, "tiles")'
bad 'a layout is a string' 'field("a", "int", 8, {})'
bad 'its map is for 3 nodes, and there are 2' 'field("a", "int", 8, "nodes 3")'
bad 'nobody owns some of its elements' \
    'field("a", "int", 8, 8, "tiles 2x2 lower nodes 2")'
bad 'axis 0 of the map has' 'field("a", "int", 8, "stride 2 nodes 2")'
bad 'forall: the pass writes none of the arguments' \
    'local a = field("a", "int", 8)
     forall(kernel("k.cl", "add"), {a, a})'
bad 'runs over elements of the one that it writes' \
    'local a, b = field("a", "int", 8), field("b", "int", 8)
     overwrite(b) fill(b, 1) overwrite(a) read(b)
     dispatch(kernel("k.cl", "add"), {a, b}, {global = 9})'
bad "writes all of axis 0 of 'a', which its layout cuts" \
    'local a, b = field("a", "int", 8, 2), field("b", "int", 8, 2)
     overwrite(b) fill(b, 1) overwrite(a) read(b)
     dispatch(kernel("k.cl", "add"), {a, b}, {global = 8})'
bad "writes 'a' already" \
    'local a, b = field("a", "int", 8), field("b", "int", 8)
     overwrite(a, b) forall(kernel("k.cl", "twice"), {a, b})'
bad "writes a field, and 'b' is none" \
    'local a, b = field("a", "int", 8), resource("b", "int", 8)
     overwrite(a, b) forall(kernel("k.cl", "twice"), {a, b})'
bad 'copied, cleared and filled as a whole' \
    'local a = field("a", "int", 8) write(a) clear(a, {size = 3})'
bad 'have different extents' \
    'local a, b = field("a", "int", 8), resource("b", "int", 4, 2)
     overwrite(a) clear(a) read(a) overwrite(b) copy(a, b)'
