#!/bin/sh
# full.sh START IMPLEMENTATION PROGRAM: a full disk for shared memory (full.c),
# in a mount namespace that has a small one.
unshare -rm sh -c 'mount -t tmpfs -o size=256m tmpfs /dev/shm' 2>/dev/null || {
    echo "skipped: no mount namespace can be made"
    exit 77
}
exec unshare -rm sh -c 'mount -t tmpfs -o size=256m tmpfs /dev/shm && exec "$@"' \
    sh "$1" "$2" 3 "$3"
