#!/bin/sh
# Run a test many times with load beside: soak.sh ROUNDS PROGRAM [ARGUMENT...]
#
# One process per core is busy, sleeps, and is busy again, so that threads lose their
# cores at places where they would not on an idle machine.
# Ends with the status of the first run that fails, which is shown.
set -u
rounds=$1
shift

load() {
    while :; do
        i=0
        while [ $i -lt 20000 ]; do i=$((i + 1)); done
        sleep 0.0$(($1 + 1))
    done
}
beside=
stop() {
    # shellcheck disable=SC2086 # a list of numbers
    kill $beside 2>/dev/null
}
trap stop EXIT
trap 'exit 1' INT TERM
core=0
while [ $core -lt "$(nproc)" ]; do
    load $core &
    beside="$beside $!"
    core=$((core + 1))
done

said=$(mktemp)
round=0
while [ $round -lt "$rounds" ]; do
    "$@" >"$said" 2>&1
    status=$?
    [ $status -eq 0 ] || {
        cat "$said"
        rm -f "$said"
        [ $status -eq 77 ] || echo "soak: round $((round + 1)) of $rounds ended with $status"
        exit $status
    }
    round=$((round + 1))
done
rm -f "$said"
echo "soak: $rounds rounds"
