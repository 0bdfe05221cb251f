# examples/edges: the same pixels as plain C finds, however far edges go on.
. "$SOURCE/tests/command/common.sh"
needs_lua
needs_compiler
needs_images
program=$SOURCE/examples/edges/edges.lua
passes() {
    sed -n 's/.*: \([0-9]*\) passes in .*/\1/p' "$folder/results/out"
}

photo=$SOURCE/docs/images/planet.jpg
expect 0 '*' "$HEDDLE" run "$program" --in photo="$photo" --out edges=edges.png
"$REFERENCE" edges "$photo" edges.png 60 160 || fail "other edges"
expect 0 '*' "$HEDDLE" run "$program" --in photo="$photo" --out edges=edges.png \
    --set low=20 --set high=500 --set passes=3
"$REFERENCE" edges "$photo" edges.png 20 500 || fail "other edges"
expect 1 "photo" "$HEDDLE" run "$program" --out edges=edges.png

# The graph depends on what it finds.
"$REFERENCE" spiral spiral.png || fail "no spiral"
expect 0 '*' "$HEDDLE" run "$program" --in photo=spiral.png \
    --out edges=edges.png --set low=20 --set high=300
"$REFERENCE" edges spiral.png edges.png 20 300 || fail "other edges"
long=$(passes)
expect 0 '*' "$HEDDLE" run "$program" --in photo=spiral.png \
    --out edges=edges.png --set low=300 --set high=300
"$REFERENCE" edges spiral.png edges.png 300 300 || fail "other edges"
short=$(passes)
[ "$long" -gt 200 ] && [ "$short" -lt 20 ] ||
    fail "$long passes along the spiral, $short without"
