# A run over fields that is killed goes on from its last checkpoint, on another
# number of nodes; damaged and foreign checkpoints are refused, a full disk is
# told and harms nothing.
. "$(dirname "$0")/common.sh"
needs_lua
needs_compiler

heat=$SOURCE/examples/heat/heat.lua
size='--set width=61 --set height=43'
run() {
    "$HEDDLE" run "$heat" $size --set steps=500 --set every=100 "$@"
}
run --out end=whole.raw --out 2=second.raw >/dev/null 2>&1 || fail "no picture"

"$HEDDLE" run "$heat" $size --set steps=500 --set every=100 --nodes 2 \
    --checkpoint ck --every 0 --out end=none.raw >log 2>&1 &
killed=$!
tries=0
until ls ck 2>/dev/null | grep -q '^checkpoint-[0-9]*$'; do
    kill -0 $killed 2>/dev/null || break
    tries=$((tries + 1))
    [ $tries -lt 1200 ] || fail "no checkpoint in two minutes: $(cat log)"
    sleep 0.1
done
kill -9 $killed 2>/dev/null
wait $killed 2>/dev/null
ls ck | grep -q '^checkpoint-[0-9]*$' || fail "no checkpoint: $(cat log)"
cp -r ck copy

expect 1 'ck has checkpoints of another run' \
    run --checkpoint ck --out end=no.raw
expect 1 'has no checkpoint to go on from' \
    run --checkpoint empty --resume --out end=no.raw
expect 1 'are for --checkpoint DIR' run --resume --out end=no.raw
expect 1 "--every takes seconds, not 'x'" \
    run --checkpoint ck --every x --out end=no.raw
expect 0 '*' run --nodes 3 --checkpoint ck --resume --out end=rest.raw \
    --out 2=two.raw
cmp whole.raw rest.raw || fail "going on gives another end"
cmp second.raw two.raw || fail "going on gives another second picture"

# A byte of a field, and the end of the list.
again() { # message
    expect 1 "$1" run --checkpoint bad --resume --out end=no.raw
    rm -rf bad
}
# The one before the last may be there still.
last=$(ls copy | grep '^checkpoint-[0-9]*$' | sort -t - -k 2 -n | tail -n 1)
field=$(cd copy && ls "$last"/*.npy | head -n 1)
if [ -n "$field" ]; then
    cp -r copy bad
    byte=$(od -An -t u1 -j 3000 -N 1 "bad/$field")
    printf "\\$(printf %o $(((byte + 1) % 256)))" |
        dd of="bad/$field" bs=1 seek=3000 conv=notrunc 2>/dev/null
    again 'is damaged: its checksum is'
    cp -r copy bad
    truncate -s 3000 "bad/$field"
    again 'it was cut off'
    cp -r copy bad
    rm "bad/$field"
    again 'cannot open'
fi
cp -r copy bad
truncate -s 40 bad/checkpoint-*/manifest.json
again 'manifest.json is damaged'
cp -r copy bad
size='--set width=62 --set height=43'
again 'checkpoint of another program, or of other settings'
size='--set width=61 --set height=43'

if small_disk full; then
    mkdir full/ck
    expect 0 'no checkpoint after pass' "$HEDDLE" run "$heat" $size \
        --set steps=3 --checkpoint full/ck --every 0 --out end=end.raw
    grep -q 'No space left on device' "$folder/results/err" || fail "no word of the disk"
    holds full ck
    rmdir full/ck
    small_disk_end
fi
