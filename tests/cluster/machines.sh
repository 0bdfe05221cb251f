#!/bin/sh
# machines.sh START IMPLEMENTATION PROGRAM: processes that a launcher deals
# to two machines in turn, which are names here: the numbers of those of a
# machine follow each other.
start=$1 implementation=$2 program=$3
case $implementation in
openmpi) says="-x HEDDLE_MACHINE=" ;;
*) says="-env HEDDLE_MACHINE " ;;
esac
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

try() { # what comes out, the machine of each process, processes of a machine
    expected=$1 each=$3
    set -- $2
    first=$1
    shift
    words=
    for machine; do
        words="$words : -n 1 $says$machine $program $each"
    done
    # shellcheck disable=SC2086 # several words
    "$start" "$implementation" 1 $says$first "$program" $each $words \
        >"$folder/out" 2>&1
    code=$?
    [ $code -eq 77 ] && { cat "$folder/out"; exit 77; }
    got=$(grep '^process' "$folder/out" | sort | sed 's/.* //' | tr '\n' ' ')
    [ $code -eq 0 ] && [ "$got" = "$expected " ] && return
    cat "$folder/out"
    echo "got '$got', expected '$expected ', code $code"
    exit 1
}
try "a a b b" "a b a b" 2
try "b b a a" "b a a b" 2
try "a b c d" "a b c d" 1
try "x x x" "x x x" 3
