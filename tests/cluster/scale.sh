#!/bin/sh
# scale.sh RUN STUDY: the smallest sizes of the scaling study, twice: every case
# has a result, and the simulated times are the same. And links so slow that
# bringing what tasks read takes as long as they do, 1.6 ms: both at once.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
STUDY=$2 LIMIT=250
export STUDY LIMIT
"$1" 4 16 >"$folder/first"
code=$?
[ $code -ne 77 ] || { cat "$folder/first"; exit 77; }
[ $code -eq 0 ] && "$1" 4 16 >"$folder/second" || exit 1
cat "$folder/first"
cmp "$folder/first" "$folder/second" || exit 1
[ "$(wc -l <"$folder/first")" -eq 24 ] || exit 1
"$1" -l 80MBps -c transposed 4 >"$folder/slow" || exit 1
cat "$folder/slow"
sed 's/.*"us":\([0-9]*\).*/\1/' "$folder/slow" | {
    read -r time
    [ "$time" -lt 2300 ]
}
