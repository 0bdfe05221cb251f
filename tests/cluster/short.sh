#!/bin/sh
# short.sh START PROGRAM: memory that runs short on one of three processes
# (short.c).
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
"$1" openmpi 3 "$2" "$folder"
