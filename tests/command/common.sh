# What the scripts share; to be sourced. Needs HEDDLE (the command), PICTURE
# (see picture.c) and SOURCE (the repository). Works in a fresh folder.

folder=$(mktemp -d) || exit 1
mounted=
trap 'cd /; [ -z "$mounted" ] || umount "$mounted"; rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM HUP
cd "$folder" || exit 1
# Neither the command nor a program of its own touches the user's cache.
HEDDLE_CACHE=$folder/cache
XDG_CACHE_HOME=$folder/caches
export HEDDLE_CACHE XDG_CACHE_HOME
unset HEDDLE_LOG

fail() {
    echo "$0: $*" >&2
    exit 1
}

skip() {
    echo "skipped: $*"
    exit 77
}

# Run a command; it must end with code $1 and say $2 on standard error (nothing
# when $2 is empty, anything when it is '*'). Its output is left in out and err.
expect() {
    expected=$1
    message=$2
    shift 2
    # The results lie outside the folder that the command works in.
    mkdir -p "$folder/results"
    "$@" >"$folder/results/out" 2>"$folder/results/err" </dev/null
    got=$?
    [ "$got" -eq "$expected" ] || {
        cat "$folder/results/err" >&2
        fail "$*: exit code $got, not $expected"
    }
    case $message in
    '*') ;;
    '')
        [ ! -s "$folder/results/err" ] || {
            cat "$folder/results/err" >&2
            fail "$*: not silent on standard error"
        }
        ;;
    *)
        grep -qF -- "$message" "$folder/results/err" || {
            cat "$folder/results/err" >&2
            fail "$*: did not say '$message'"
        }
        ;;
    esac
}

# Standard output of the last command must have $1 in it.
said() {
    grep -qF -- "$1" "$folder/results/out" || {
        cat "$folder/results/out" >&2
        fail "standard output lacks '$1'"
    }
}

# Exactly these files lie in folder $1, hidden ones too.
holds() {
    where=$1
    shift
    there=$(cd "$where" && find . ! -name . | sed 's,^\./,,' | LC_ALL=C sort)
    should=$(printf '%s\n' "$@" | LC_ALL=C sort)
    [ "$there" = "$should" ] || fail "$where holds '$there', not '$should'"
}

# Make folder $1 a file system of a few KiB; false when this user cannot.
small_disk() {
    mkdir "$1"
    if mount -t tmpfs -o size=8k tmpfs "$1" 2>/dev/null; then
        mounted=$PWD/$1
    else
        rmdir "$1"
        echo "note: this user cannot mount; a full file system not tried"
        return 1
    fi
}

small_disk_end() {
    left=$(ls -A "$mounted")
    [ -z "$left" ] || fail "a full file system keeps $left"
    umount "$mounted" && rmdir "$mounted"
    mounted=
}

# What this build has, as `heddle info --json` says it.
has() {
    "$HEDDLE" info --json >info.json || fail "heddle info --json failed"
    grep -q "\"$1\": *true" info.json
    found=$?
    rm -f info.json
    return $found
}

needs_compiler() {
    has has_compiler || skip "no kernel compiler in this build"
}

needs_lua() {
    has has_lua || skip "no Lua in this build"
}

needs_images() {
    for ending in png jpg; do
        "$PICTURE" 1 1 "probe.$ending" 2>/dev/null
        [ $? -ne 77 ] || skip "no $ending images in this build"
        rm -f "probe.$ending"
    done
}
