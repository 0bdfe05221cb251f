# A graph program over fields draws the same picture with GPUs as nodes.
. "$SOURCE/tests/command/common.sh"
needs_lua
needs_compiler

run() { # file, then options
    file=$1
    shift
    expect 0 '*' "$HEDDLE" run "$SOURCE/examples/heat/heat.lua" --set steps=9 \
        --set every=4 --set width=61 --set height=43 --out end="$file" "$@"
}
run whole.raw
run parts.raw --nodes cpu,gpu
cmp whole.raw parts.raw || fail "another picture on CPU and GPU"
run parts.raw --nodes gpu
cmp whole.raw parts.raw || fail "another picture on the GPU"
for layout in 'tiles 7x9 cyclic' 'tiles 4x61 cyclic weights 1,3' \
    'tiles 43x5 block memory 6x5 tasks 3x5'; do
    run parts.raw --nodes cpu,gpu --set layout="$layout"
    cmp whole.raw parts.raw || fail "another picture for $layout"
done
expect 1 'the runtime has none' "$HEDDLE" run "$SOURCE/examples/heat/heat.lua" \
    --nodes gpu --device cpu
