#!/bin/sh
# A tile that may have so many registers needs as many as its kernels do, or
# fewer than a lean one has; and no kernel that needs more is linked with it.
# NVIDIA's linker says so, and src/backend/cuda/executor/link.c stands on it.
#
#     registers.sh PTXAS NVLINK TILE.ptx
set -eu
ptxas=$1 nvlink=$2 tile=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

head='.version 6.3
.target sm_70
.address_size 64'

# A kernel in which so many values are alive at the same time.
kernel() {
    echo "$head"
    echo ".visible .func greedy()"
    echo "{ .reg .b32 %r<$(($1 + 1))>; .reg .b64 %at; mov.u64 %at, 4096;"
    i=0
    while [ $i -lt "$1" ]; do
        echo "ld.volatile.global.u32 %r$i, [%at+$((4 * i))];"
        i=$((i + 1))
    done
    while [ $i -gt 0 ]; do
        i=$((i - 1))
        echo "st.volatile.global.u32 [%at+$((4 * i))], %r$i;"
    done
    echo "ret; }"
}

cat >"$work/switch.ptx" <<END
$head
.extern .func greedy ();
.visible .entry alone() { call.uni greedy, (); ret; }
.visible .func hdx_call(.param .b32 which) { call.uni greedy, (); ret; }
END

needed() { # by $1, as the linker says
    awk -v name="'$1'" '/Function properties for/ { at = index($0, name) }
        at && /used/ { for (i = 1; i < NF; i++) if ($i == "used") { print $(i + 1); exit } }' \
        "$work/log"
}

for arch in sm_80 sm_90; do
    "$ptxas" --help | grep -q "'$arch'" || continue
    "$ptxas" -c -arch="$arch" "$work/switch.ptx" -o "$work/switch.o"
    for count in 4 30 90; do
        kernel "$count" >"$work/kernel.ptx"
        "$ptxas" -c -arch="$arch" "$work/kernel.ptx" -o "$work/kernel.o"
        for most in 64 128; do
            "$ptxas" -c -maxrregcount=$most -arch="$arch" "$tile" -o "$work/tile.o"
            linked=1
            "$nvlink" -v -arch="$arch" "$work/kernel.o" "$work/switch.o" \
                "$work/tile.o" -o "$work/cubin" >"$work/log" 2>&1 || linked=0
            alone=$(needed alone) served=$(needed hdx_serve)
            echo "$arch: a kernel of $alone registers takes $served in a tile of $most, linked: $linked"
            if [ "$alone" -le $most ]; then
                [ $linked = 1 ] && [ "$served" -le $most ]
            else
                [ $linked = 0 ]
            fi
        done
    done
done
