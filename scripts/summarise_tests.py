#!/usr/bin/env python3
"""Print what failed, what was skipped and why, what took long, and the sums in a line.

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


def seconds(case):
    return float(case.get("time") or 0)


def show_times(build, tests):
    """The sum over tests, which run side by side, and those that took longest."""
    longest = sorted(tests, key=lambda name: -seconds(tests[name]))[:LONGEST]
    print(f"{build}: {sum(map(seconds, tests.values())):.0f} s of tests; longest: "
          + ", ".join(f"{name} {seconds(tests[name]):.0f}" for name in longest))


LONGEST = 8
count = {"passed": 0, "failed": 0, "skipped": 0}
why = {}
folder = pathlib.Path(sys.argv[1])
for file in sorted(folder.glob("*.xml")):
    tests = cases(file)
    show_times(file.stem, tests)
    for test, case in tests.items():
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
