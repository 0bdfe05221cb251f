#!/bin/sh
# soak.sh runs a program as often as told, ends at the first failure with its status
# and output, and leaves no process behind.
set -eu
soak=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "soak.sh: $*" >&2
    exit 1
}

# Fails in the round whose number it is given.
cat >"$folder/program" <<END
#!/bin/sh
echo round >>"$folder/rounds"
[ \$(wc -l <"$folder/rounds") -ne \$1 ] || { echo broken; exit 3; }
END
chmod +x "$folder/program"

"$soak" 5 "$folder/program" 9 >"$folder/said" || fail "$(cat "$folder/said")"
[ "$(wc -l <"$folder/rounds")" -eq 5 ] || fail "not 5 rounds"
status=0
"$soak" 5 "$folder/program" 7 >"$folder/said" || status=$?
[ $status -eq 3 ] || fail "status $status"
[ "$(wc -l <"$folder/rounds")" -eq 7 ] || fail "went on"
grep -q broken "$folder/said" || fail "output is lost"
