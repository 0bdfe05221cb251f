# The man page and --help name the same options, and the page is well formed.
. "$(dirname "$0")/common.sh"

page=$SOURCE/man/heddle.1

for command in info run graph build report; do
    "$HEDDLE" "$command" --help |
        sed -n 's/^  \(-[^ ]*\).*/\1/p' | LC_ALL=C sort >helped
    # The options of a subcommand are the tags in its subsection.
    sed -n "/^\.Ss $command\$/,/^\.S[sh] /s/^\.It Fl \([^ ]*\).*/-\1/p" "$page" |
        LC_ALL=C sort >paged
    [ -s helped ] || fail "heddle $command --help names no option"
    diff helped paged >difference || {
        cat difference >&2
        fail "heddle $command: --help (<) and the man page (>) differ"
    }
done

command -v mandoc >/dev/null || skip "the form is not checked without mandoc"
mandoc -T lint -W warning "$page" >lint || {
    cat lint >&2
    fail "mandoc complains"
}
