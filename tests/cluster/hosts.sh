#!/bin/bash
# hosts.sh HOSTS NETEM TRANSPORT SORT CHOLESKY: programs over two hosts, whose
# processes have no memory in common. What is slow or lost on its way changes
# nothing but the time.
hosts=$1 netem=$2 transport=$3 sort=$4 cholesky=$5
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
run() { # what one line says, program
    "$hosts" ${netem:+--netem "$netem"} "${@:2}" >"$folder/out" 2>&1
    code=$?
    [ $code -ne 77 ] || { cat "$folder/out"; exit 77; }
    if [ $code -ne 0 ] || { [ -n "$1" ] && ! grep -q "$1" "$folder/out"; }; then
        cat "$folder/out" >&2
        echo "$2: code $code, wanted a line with '$1'" >&2
        exit 1
    fi
}
[ -n "$netem" ] || run '' "$transport" mpi
run ', 0 are; the same keys;' "$sort" 50000
run 'factor of 96 x 96 on 4 nodes' "$cholesky" 96 16 "$folder/factor.npy"
"$cholesky" 96 16 "$folder/alone.npy" >/dev/null &&
    cmp "$folder/factor.npy" "$folder/alone.npy"
