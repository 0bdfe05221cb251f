#!/bin/sh
# lost.sh START PROGRAM: what happens when a process is lost. Everything ends
# long before the test's own limit, with a failure and a message that names it.
start=$1 program=$2
out=$(mktemp)
trap 'rm -f "$out"' EXIT

expect() { # how, then what one line says
    timeout 40 "$start" openmpi 2 "$program" $1 >"$out" 2>&1
    code=$?
    [ $code -ne 77 ] || { cat "$out"; exit 77; }
    if [ $code -eq 0 ] || [ $code -eq 124 ] || ! grep -qE "$2" "$out"; then
        cat "$out" >&2
        echo "$1: code $code, wanted a failure that says '$2'" >&2
        exit 1
    fi
}

expect killed 'rank 1 .*(signal 9|Killed)'
expect gone 'process 1 has ended without leaving its cluster'
expect silent 'process 1 has not answered for 5 s'
expect other 'process 0 calls hd_field_create\(\), process 1 calls hd_cluster_meet\(\)'

timeout 40 "$start" openmpi 2 "$program" late >"$out" 2>&1 || {
    cat "$out" >&2
    echo "late: a failure" >&2
    exit 1
}

# A thief whose task takes six times the limit is waited for, by all, whether
# it answers or the system knows it; one that does not answer is lost.
for how in far near; do
    timeout 40 "$start" openmpi 2 "$program" thief $how >"$out" 2>&1
    code=$?
    if [ $code -ne 0 ] || ! grep -qF 'process 0: done' "$out" ||
        ! grep -qE 'process 1: done, [1-9]' "$out"; then
        cat "$out" >&2
        echo "thief $how: code $code" >&2
        exit 1
    fi
done
expect 'thief stopped' 'process 0: .*process 1 .*(answered|answer) for 0.5 s'
