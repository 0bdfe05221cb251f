#!/usr/bin/env python3
"""Print what failed and what was skipped and why, and one line with the sums.

summarise_tests.py FOLDER [BUILD_THAT_FAILED...]

FOLDER holds one JUnit file per build, as ctest writes them. A build that failed
counts as one failed test. Exit status 1 when anything failed or nothing ran.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as xml


def reason(case):
    """The line in which a test says why it was skipped."""
    text = case.findtext("system-out") or ""
    lines = [line for line in text.splitlines() if line.startswith("skipped: ")]
    return lines[-1][len("skipped: "):] if lines else "no reason given"


passed = failed = skipped = 0
why = {}
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.xml")):
    for case in xml.parse(file).getroot().iter("testcase"):
        name = f"{file.stem}/{case.get('name')}"
        state = case.get("status")
        if state == "run":
            passed += 1
        elif state in ("notrun", "disabled") and case.find("failure") is None:
            skipped += 1
            why.setdefault(reason(case), []).append(name)
        else:
            failed += 1
            text = case.findtext("system-out") or ""
            text = re.sub(r"\n+", "\n", text)[-4000:]
            print(f"\nFAILED {name}\n{text}")

for build in sys.argv[2:]:
    failed += 1
    print(f"\nFAILED build '{build}'")
for text, names in why.items():
    print(f"skipped: {text}: {', '.join(names)}")
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed > 0 or passed == 0)
