# Image files that are wrong, and targets that cannot be written. Nothing is
# left behind, nothing that was there is touched.
. "$(dirname "$0")/common.sh"
needs_lua
needs_images

mkdir work
cd work || exit 1
echo 'not reached' >p.lua

# Inputs: the message names the file and what is wrong with it.
input() {
    text=$1
    file=$2
    expect 1 "heddle: $text" "$HEDDLE" run p.lua --in "map=$file" \
        --out image=o.png
    [ ! -e o.png ] || fail "$file: an output was made"
    expect 1 "heddle: $text" "$HEDDLE" graph p.lua --in "map=$file" -o o.dot
    [ ! -e o.dot ] || fail "$file: a graph was made"
}

input "cannot open missing.png: No such file or directory" missing.png
input "cannot read .: Is a directory" .
: >empty.png
input "empty.png is empty" empty.png
echo 'a text, not an image' >text.png
input "text.png is neither a PNG nor a JPEG image" text.png
for ending in png jpg; do
    "$PICTURE" 90 70 "good.$ending" || fail "no picture was made"
    size=$(wc -c <"good.$ending")
    for part in 10 50 99; do
        head -c $((size * part / 100)) "good.$ending" >"cut.$ending"
        input "cut.$ending: damaged" "cut.$ending"
    done
    # Bytes of other files in the middle.
    { head -c $((size / 2)) "good.$ending"; cat "$SOURCE/LICENSE"; } \
        >"mixed.$ending"
    input "mixed.$ending: damaged" "mixed.$ending"
done
rm -f -- *.png *.jpg

# Targets: refused before the program is even read.
target() {
    text=$1
    file=$2
    for option in --out\ image= --trace\  --dot\ ; do
        # Word splitting is wanted: option and value are two words.
        # shellcheck disable=SC2086
        case $option in
        *=) expect 1 "heddle: $text" "$HEDDLE" run p.lua ${option}"$file" ;;
        *) expect 1 "heddle: $text" "$HEDDLE" run p.lua $option "$file" ;;
        esac
    done
}

target "cannot write missing/o.png: No such file or directory" missing/o.png
target "cannot write p.lua/o.png: Not a directory" p.lua/o.png
target "cannot write .: Is a directory" .
mkdir locked
chmod a-w locked
if [ -w locked ]; then
    echo "note: this user may write everywhere; read-only folders not tried"
else
    target "cannot write locked/o.png: Permission denied" locked/o.png
    : >locked.png
    chmod a-w locked.png
    target "cannot write locked.png: Permission denied" locked.png
    rm -f locked.png
fi
rmdir locked
expect 1 "o.png would be written twice, by --out and by --trace" \
    "$HEDDLE" run p.lua --out image=o.png --trace o.png
holds . p.lua
