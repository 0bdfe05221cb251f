#!/bin/sh
# Build the kernel of docs/kernels.md as the page says: kernels.sh HEDDLE PAGE
set -eu
heddle=$1
page=$2
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HEDDLE_CACHE="$folder/cache"

fail() {
    echo "kernels.sh: $*" >&2
    exit 1
}

# Block NUMBER, from 1, of those that begin with ```NAME.
block() {
    awk -v fence="\`\`\`$1" -v number="$2" '
        $0 == fence { inside = ++seen == number; next }
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
block c 1 >blur.cl
block sh 1 | sed "s|^heddle|\"$heddle\"|" >run.sh
[ -s blur.cl ] && [ -s run.sh ] || fail "a block is missing in $page"
sh run.sh >told || fail "the command of the page failed"
for word in form regions 'saved per work-item' 'vector width'; do
    grep -q "$word" told || fail "--explain does not tell '$word'"
done
if [ "$(uname -m)" = x86_64 ]; then
    block sh 2 | sed "s|^heddle|\"$heddle\"|" >run.sh
    grep -q cpu run.sh || fail "the block on processors is missing in $page"
    sh -e run.sh >told || fail "the commands on processors failed"
    grep -q 'x86-64-v[234].* runs here' told ||
        fail "no code of the page runs here"
fi
"$heddle" build blur.cl
block sh 3 | sed "s|^heddle|\"$heddle\"|" >run.sh
grep -q library run.sh || fail "the block on libraries is missing in $page"
sh -e run.sh || fail "the commands on libraries failed"
[ -s both.hdb ] || fail "the commands on libraries wrote nothing"
if spirv-as --version >spirv 2>&1 && "$heddle" info | grep -q 'SPIR-V *through'; then
    cp "$here/../spirv/group.spvasm" kernel.spvasm
    block sh 4 | sed "s|^heddle|\"$heddle\"|; s|^spirv-as|& --target-env spv1.4|" >run.sh
    grep -q spirv-as run.sh || fail "the block on SPIR-V is missing in $page"
    sh -e run.sh || fail "the commands on SPIR-V failed"
    [ -s whole.hdb ] || fail "the commands on SPIR-V wrote nothing"
fi
block c 3 >hello.cl
grep -q printf hello.cl || fail "the kernel that prints is missing in $page"
"$heddle" build hello.cl || fail "the kernel that prints is not built"
block c 2 >settle.cl
"$heddle" build settle.cl --explain >told ||
    fail "the kernel whose work-groups wait is not built"
grep -q 'of all work-groups' told || fail "it does not say that they wait"
