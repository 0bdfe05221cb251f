#!/bin/sh
# scale.sh RUN STUDY: the smallest sizes of the scaling study, twice: every case
# has a result, and the simulated times are the same.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
STUDY=$2 LIMIT=250
export STUDY LIMIT
"$1" 4 16 >"$folder/first"
code=$?
[ $code -ne 77 ] || exit 77
[ $code -eq 0 ] && "$1" 4 16 >"$folder/second" || exit 1
cat "$folder/first"
cmp "$folder/first" "$folder/second" || exit 1
[ "$(wc -l <"$folder/first")" -eq 22 ]
