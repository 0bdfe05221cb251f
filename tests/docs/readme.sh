#!/bin/sh
# Run the program in the README as it stands there: readme.sh HEDDLE README
set -eu
heddle=$1
readme=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HEDDLE_CACHE="$folder/cache"

fail() {
    echo "readme.sh: $*" >&2
    exit 1
}

# block LANGUAGE: the first block of that language
block() {
    awk -v fence="\`\`\`$1" '
        $0 == fence && !seen { inside = seen = 1; next }
        $0 == "```" { inside = 0 }
        inside' "$readme"
}

block lua >"$folder/invert.lua"
block c >"$folder/invert.cl"
block sh >"$folder/command"
[ -s "$folder/invert.lua" ] && [ -s "$folder/invert.cl" ] && [ -s "$folder/command" ] ||
    fail "a block is missing in $readme"
[ "$(wc -l <"$folder/invert.lua")" -le 11 ] || fail "the ten-line program grew"

needs=$("$heddle" info --json)
for part in has_compiler has_lua; do
    case $needs in
    *"\"$part\":true"*) ;;
    *)
        echo "skipped: this build lacks what 'heddle info' calls $part"
        exit 77
        ;;
    esac
done

# A picture of one black pixel; the result must be white.
cd "$folder"
printf '\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\10\0\0\0\0:~\233U\0\0\0\nIDATx\234c`\0\0\0\2\0\1H\257\244q\0\0\0\0IEND\256B`\202' >photo.png
sed "s|^heddle|\"$heddle\"|" command >run.sh
sh run.sh >/dev/null || fail "the command of the README failed"
[ -s inverted.png ] || fail "no result"

# Twice inverted is black again, and once is not.
"$heddle" run invert.lua --in photo=inverted.png --out result=again.png >/dev/null
"$heddle" run invert.lua --in photo=again.png --out result=twice.png >/dev/null
cmp -s inverted.png twice.png || fail "inverting twice changes the picture"
cmp -s inverted.png again.png && fail "inverting changes nothing"
exit 0
