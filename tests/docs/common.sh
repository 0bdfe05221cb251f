# What the scripts beside this one share.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HEDDLE_CACHE="$folder/cache"
cd "$folder"

skip() {
    echo "skipped: $*"
    exit 77
}

# The block of $page that begins with ```NAME.
block() {
    awk -v fence="\`\`\`$1" '
        $0 == fence { inside = 1; next }
        $0 == "```" { inside = 0 }
        inside' "$page"
}

# Skip where $heddle cannot do all of these.
need() {
    about=$("$heddle" info --json)
    for part; do
        case $about in
        *"\"$part\":true"*) ;;
        *) skip "this build lacks what $part says" ;;
        esac
    done
}
