#!/bin/sh
# PTX of all kernels of a file, entries and tiles, is what NVIDIA's assembler
# takes, for each architecture.
#
#     assembles.sh HEDDLE PTXAS FILE.cl ARCHITECTURE...
set -eu
heddle=$1 ptxas=$2 file=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C XDG_CACHE_HOME="$work"

for cpu; do
    "$heddle" build --cpu "$cpu" "$file" -o "$work/k.hdb" 2>"$work/log" || {
        cat "$work/log" >&2
        exit 1
    }
    # The image is text between bytes that are 0.
    tr '\000' '\036' <"$work/k.hdb" | awk -v to="$work" 'BEGIN { RS = "\036" }
        at = index($0, "// heddle ptx ") {
            text = substr($0, at)
            tiles = index(text, "\n// heddle tiles\n")
            print substr(text, 1, tiles) >(to "/entries.ptx")
            print substr(text, tiles + 17) >(to "/tiles.ptx")
        }'
    # The newest assemblers know no sm_70; its code is for newer ones too.
    arch=$cpu
    "$ptxas" --help | grep -q "'$arch'" || arch=sm_80
    for part in entries tiles; do
        grep -q '^\.version' "$work/$part.ptx" || {
            echo "no PTX of $part for $cpu" >&2
            exit 1
        }
        "$ptxas" -c -arch="$arch" "$work/$part.ptx" -o "$work/k.o"
    done
    rm "$work"/*.ptx
done
