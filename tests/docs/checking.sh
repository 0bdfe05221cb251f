#!/bin/sh
# What docs/debugging.md says that --check tells: checking.sh HEDDLE PICTURE PAGE
set -eu
heddle=$1
picture=$2
page=$3
. "$(dirname "$0")/common.sh"

fail() {
    echo "checking.sh: $*" >&2
    cat said >&2
    exit 1
}

need has_compiler has_lua
: >said
block opencl >neighbours.cl
block lua | sed 's/twist/neighbours/g' >neighbours.lua
block check >expected
for file in neighbours.cl neighbours.lua expected; do
    [ -s $file ] || fail "a block is missing in $page"
done
"$picture" 8 1 map.png || skip "no PNG images in this build"
"$heddle" run --check --workers 1 neighbours.lua --in map=map.png --out to=to.png \
    2>said && fail "mistakes went unnoticed"
while IFS= read -r line; do
    grep -qF -- "$line" said || fail "it did not tell '$line'"
done <expected
[ "$(grep -c 'neighbours.cl:[0-9]' said)" -eq "$(grep -c . expected)" ] ||
    fail "it told more than the page says"
