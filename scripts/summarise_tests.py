#!/usr/bin/env python3
"""Print what failed and what was skipped and why, and one line with the sums.

summarise_tests.py FOLDER [BUILD_THAT_FAILED...]

FOLDER holds one JUnit file per build, as ctest writes them: BUILD.xml, and
BUILD.again.xml for the tests that failed in it and were run once more. One that
passes then counts as passed and is named as unsteady, with what it said when it
failed. A build that failed counts as one failed test. Exit status 1 when
anything failed or nothing ran.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as xml


def said(case):
    return case.findtext("system-out") or ""


def reason(case):
    """The line in which a test says why it was skipped."""
    lines = [line for line in said(case).splitlines() if line.startswith("skipped: ")]
    return lines[-1][len("skipped: "):] if lines else "no reason given"


def state(case):
    if case.get("status") == "run":
        return "passed"
    if case.get("status") in ("notrun", "disabled") and case.find("failure") is None:
        return "skipped"
    return "failed"


def cases(file):
    if not file.exists():
        return {}
    return {case.get("name"): case for case in xml.parse(file).getroot().iter("testcase")}


def show(word, name, case):
    text = re.sub(r"\n+", "\n", said(case))[-4000:]
    print(f"\n{word} {name}\n{text}")


count = {"passed": 0, "failed": 0, "skipped": 0}
why = {}
unsteady = []
folder = pathlib.Path(sys.argv[1])
for file in sorted(folder.glob("*.xml")):
    if file.stem.endswith(".again"):
        continue
    again = cases(folder / f"{file.stem}.again.xml")
    for test, case in cases(file).items():
        name = f"{file.stem}/{test}"
        if state(case) == "failed" and test in again and state(again[test]) == "passed":
            show("UNSTEADY (failed, and passed when run again)", name, case)
            unsteady.append(name)
            case = again[test]
        count[state(case)] += 1
        if state(case) == "skipped":
            why.setdefault(reason(case), []).append(name)
        elif state(case) == "failed":
            show("FAILED", name, case)

for build in sys.argv[2:]:
    count["failed"] += 1
    print(f"\nFAILED build '{build}'")
for text, names in why.items():
    print(f"skipped: {text}: {', '.join(names)}")
if unsteady:
    print(f"unsteady: {', '.join(unsteady)}")
print(", ".join(f"{number} {word}" for word, number in count.items()))
sys.exit(count["failed"] > 0 or count["passed"] == 0)
