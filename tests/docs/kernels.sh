#!/bin/sh
# Build the kernel of docs/kernels.md as the page says: kernels.sh HEDDLE PAGE
set -eu
heddle=$1
page=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HEDDLE_CACHE="$folder/cache"

fail() {
    echo "kernels.sh: $*" >&2
    exit 1
}

block() {
    awk -v fence="\`\`\`$1" '
        $0 == fence && !seen { inside = seen = 1; next }
        $0 == "```" { inside = 0 }
        inside' "$page"
}

case $("$heddle" info --json) in
*'"has_compiler":true'*) ;;
*)
    echo "skipped: no kernel compiler in this build"
    exit 77
    ;;
esac

cd "$folder"
block c >blur.cl
block sh | sed "s|^heddle|\"$heddle\"|" >run.sh
[ -s blur.cl ] && [ -s run.sh ] || fail "a block is missing in $page"
sh run.sh >told || fail "the command of the page failed"
for word in form regions 'kept per work-item' 'vector width'; do
    grep -q "$word" told || fail "--explain does not tell '$word'"
done
