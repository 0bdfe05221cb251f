# examples/photo: the picture that plain C makes, and noise that goes.
. "$SOURCE/tests/command/common.sh"
needs_lua
needs_compiler
needs_images
program=$SOURCE/examples/photo/photo.lua

"$REFERENCE" scene clean.png noisy.png || fail "no scene"
expect 0 '*' "$HEDDLE" run "$program" --in photo=noisy.png --out photo=better.png
"$REFERENCE" photo noisy.png better.png 4 0.05 1.3 2 || fail "another picture"
"$REFERENCE" closer clean.png noisy.png better.png || fail "noise stays"
expect 0 '*' "$HEDDLE" run "$program" --in photo=noisy.png \
    --out photo=better.png --set levels=2 --set noise=0.2 --set detail=2.5 \
    --set noisy=1
"$REFERENCE" photo noisy.png better.png 2 0.2 2.5 1 || fail "another picture"

# NASA's, where the package is installed.
moon=/usr/share/xplanet/images/hubble.png
[ -r "$moon" ] || exit 0
expect 0 '*' "$HEDDLE" run "$program" --in photo="$moon" --out photo=better.png
"$REFERENCE" photo "$moon" better.png 4 0.05 1.3 2 || fail "another picture"
