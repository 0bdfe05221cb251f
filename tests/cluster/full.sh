#!/bin/sh
# full.sh START IMPLEMENTATION PROGRAM: a full disk for shared memory (full.c),
# in a mount namespace that has a small one; and one process, which needs none.
start=$1 implementation=$2 program=$3

on_disk() { # size, processes, arguments
    size=$1 processes=$2
    shift 2
    unshare -rm sh -c 'mount -t tmpfs -o "size=$0" tmpfs /dev/shm && exec "$@"' \
        "$size" "$start" "$implementation" "$processes" "$program" "$@"
}

unshare -rm sh -c 'mount -t tmpfs -o size=256m tmpfs /dev/shm' 2>/dev/null || {
    echo "skipped: no mount namespace can be made"
    exit 77
}
on_disk 256m 3 && on_disk 32m 1 2
