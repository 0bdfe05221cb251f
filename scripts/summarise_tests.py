#!/usr/bin/env python3
"""Print what failed and what was skipped and why, and one line with the sums.

summarise_tests.py FOLDER [BUILD_THAT_FAILED...]

FOLDER holds one JUnit file per build, BUILD.xml, as ctest writes them. A build that
failed counts as one failed test. Exit status 1 when anything failed or nothing
passed.
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
    return {case.get("name"): case for case in xml.parse(file).getroot().iter("testcase")}


def show(word, name, case):
    text = re.sub(r"\n+", "\n", said(case))[-4000:]
    print(f"\n{word} {name}\n{text}")


count = {"passed": 0, "failed": 0, "skipped": 0}
why = {}
folder = pathlib.Path(sys.argv[1])
for file in sorted(folder.glob("*.xml")):
    for test, case in cases(file).items():
        name = f"{file.stem}/{test}"
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
print(", ".join(f"{number} {word}" for word, number in count.items()))
sys.exit(count["failed"] > 0 or count["passed"] == 0)
