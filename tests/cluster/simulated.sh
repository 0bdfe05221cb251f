#!/bin/sh
# simulated.sh PROGRAM STEALING [RANKS POLL]: a program with 64 and 256 (RANKS) ranks, and
# uneven work (stealing.c) on 16 and 32, in a cluster that SimGrid simulates (Casanova and
# others, Journal of Parallel and Distributed Computing 74(10), 2014). It runs for real, only
# its network does not, so the result is checked, and two runs take the same simulated time.
# A look for a message takes POLL seconds, 5 us: their number is what takes time.
program=$1 stealing=$2 ranks=${3:-256} poll=${4:-5e-6}
command -v smpirun >/dev/null || {
    echo "skipped: smpirun is not installed (Debian package libsimgrid-dev)"
    exit 77
}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cat >"$folder/cluster.xml" <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="all" prefix="n" suffix="" radical="0-1023" speed="10Gf"
           bw="10Gbps" lat="2us" bb_bw="1000Gbps" bb_lat="1us"/>
</platform>
END
i=0
while [ $i -lt 1024 ]; do
    echo "n$i"
    i=$((i + 1))
done >"$folder/hosts"

start() { # ranks, program; the output goes to a file
    timeout 250 smpirun -np "$1" -platform "$folder/cluster.xml" \
        -hostfile "$folder/hosts" -no-privatize \
        --cfg=smpi/simulate-computation:no --cfg=smpi/display-timing:yes \
        --cfg=smpi/host-speed:10Gf "--cfg=smpi/iprobe:$poll" \
        "--cfg=smpi/test:$poll" --cfg=smpi/grow-injected-times:no \
        "$2" >"$folder/out" 2>&1
}

simulate() { # ranks, file
    start "$1" "$program"
    code=$?
    # The sum of 7 i + j over 2048 x 2048.
    if [ $code -ne 0 ] ||
        ! grep -qF "$1 ranks: sum 34342961152" "$folder/out"; then
        tail -n 20 "$folder/out" >&2
        echo "$1 ranks: code $code" >&2
        exit 1
    fi
    grep -o '[Ss]imulated time: [0-9.e+-]*' "$folder/out" >"$2"
}
simulate 64 "$folder/first"
simulate 64 "$folder/second"
[ -s "$folder/first" ] && cmp "$folder/first" "$folder/second" || exit 1
simulate "$ranks" "$folder/third"
cat "$folder/third"

# Everybody works, whoever had the tasks at first, each is done once, and nodes
# ask few others in vain: all N together at most N - 1 + 3 log2(N) times.
share() { # ranks, asks in vain at most
    start "$1" "$stealing"
    code=$?
    grep ' ranks, ' "$folder/out"
    [ $code -eq 0 ] && awk -v ranks="$1" -v most="$2" '
        / ranks, / {
            for (i = 1; i < NF; i++) {
                if ($(i + 1) == "of") done = $i == $(i + 2)
                if ($(i + 1) == "nodes,") workers = $i
                if ($(i + 2) == "vain" || $(i + 2) == "vain,") vain = $i
            }
            # A slow node of many has been helped, or it takes 400.
            good += done && workers == ranks && vain <= most &&
                    ($NF < 350 || /all on one/)
        }
        END { exit good != 2 }' "$folder/out" || {
        tail -n 20 "$folder/out" >&2
        echo "stealing, $1 ranks: code $code" >&2
        exit 1
    }
}
share 16 27
share 32 46
