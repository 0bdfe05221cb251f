#!/bin/sh
# The last line counts every test once; a failed test is a failed run.
set -eu
summarise=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "summary.sh: $*" >&2
    exit 1
}

passed='<testcase name="a" status="run" time="3.2"/>'
skipped='<testcase name="b" status="notrun"><system-out>skipped: no disk</system-out></testcase>'
failed='<testcase name="c" status="fail"><failure message=""/><system-out>why c failed</system-out></testcase>'

echo "<testsuite>$passed$skipped</testsuite>" >"$folder/one.xml"
said=$("$summarise" "$folder") || fail "nothing failed: $said"
[ "$(echo "$said" | tail -n 1)" = "1 passed, 0 failed, 1 skipped" ] || fail "$said"
echo "$said" | grep -q "^skipped: no disk: one/b$" || fail "no reason: $said"
echo "$said" | grep -q "^one: 3 s of tests; longest: a 3, b 0$" || fail "no times: $said"

echo "<testsuite>$passed$failed</testsuite>" >"$folder/two.xml"
if said=$("$summarise" "$folder"); then fail "c failed: $said"; fi
[ "$(echo "$said" | tail -n 1)" = "2 passed, 1 failed, 1 skipped" ] || fail "$said"
echo "$said" | grep -q "why c failed" || fail "not shown: $said"

# One that failed and passes when run again has failed.
echo "<testsuite>${failed%%status*}status=\"run\"/></testsuite>" >"$folder/two.again.xml"
if said=$("$summarise" "$folder"); then fail "c failed first: $said"; fi

# So has a build, and a run of no tests.
rm "$folder/two.xml" "$folder/two.again.xml"
if said=$("$summarise" "$folder" thread); then fail "a build failed: $said"; fi
[ "$(echo "$said" | tail -n 1)" = "1 passed, 1 failed, 1 skipped" ] || fail "$said"
rm "$folder/one.xml"
if said=$("$summarise" "$folder"); then fail "nothing ran: $said"; fi
