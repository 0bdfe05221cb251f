#!/bin/sh
# The script that runs conformance tests, with suites that are scripts: the
# verdicts that need no time, and a suite that takes its first argument for the
# name of the program.
#
#     conformance.sh SCRIPT
set -eu
script=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

cat >"$folder/test_mixed" <<'END'
#!/bin/sh
case $1 in
--list) printf '\tgood\n\tabsent\n\tnewer\n\tbad\n\tgone\n' ;;
good) echo 'part test not supported'; echo 'good passed'; echo 'PASSED test.' ;;
newer) echo 'newer skipped (requires a version)'; echo 'PASSED test.' ;;
absent) echo 'absent test not supported'; echo 'PASSED test.' ;;
bad) echo 'bad FAILED'; exit 1 ;;
gone) kill -SEGV $$ ;;
esac
END
cat >"$folder/test_non_uniform_work_group" <<'END'
#!/bin/sh
shift
case ${1-} in
--list) printf '\tone\n' ;;
one) echo 'one passed' ;;
*) echo 'another FAILED' ;;
esac
END
chmod +x "$folder"/test_*

status=0
"$script" "$folder" >"$folder/out" 2>"$folder/lines" || status=$?
cat "$folder/out" "$folder/lines"
[ $status -eq 1 ]
grep -q '"mixed", "tests": 5, "pass": 1, "fail": 1, "skip": 2, "crash": 1, "timeout": 0}' "$folder/out"
grep -q '"non_uniform_work_group", "tests": 1, "pass": 1, "fail": 0,' "$folder/out"
for line in 'pass *mixed good' 'skip *mixed absent' 'fail *mixed bad' \
    'crash *mixed gone'; do
    grep -q "^$line\$" "$folder/lines"
done
