#!/usr/bin/env python3
"""Check that what is public says what its users must know.

Usage: check_headers.py [FOLDER]

A function: which threads may call it ('Threads:'); if it returns a status, which
errors ('Errors:'); if it hands something out by a pointer to a pointer, whose that
is ('Owner' or free). These stand in the comment right above a declaration or a block
of them, or, threads and errors, in a comment of '//' lines, where they speak for all
below up to the next heading ("// Word ---").

A struct, union or enum with a name: what it is, in a comment right above; if it has
pointers, whose what they point to is ('Owner:'). Names that end in '_' are private.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent


def comment_above(lines, number):
    """The comment lines right above line `number`, counted from 0."""
    first = number
    while first > 0 and lines[first - 1].startswith("//"):
        first -= 1
    return "\n".join(lines[first:number])


def functions(lines):
    """Yield (line, declaration, own comment, words of its section)."""
    section, own = "", ""
    for number, line in enumerate(lines):
        if re.match(r"// .* -{3,}$", line):
            section = ""
        if not line.strip():
            own = ""
        if line.startswith("///"):
            if not lines[number - 1].startswith("///"):
                own = ""  # a comment below another declaration
            own += line
        elif line.startswith("//"):
            section += line
        if line.startswith("HD_API"):
            end = number
            while not lines[end].rstrip().endswith((";", "{", ")")):
                end += 1
            yield number, " ".join(lines[number:end + 1]), own, section


def bad_functions(lines):
    for number, text, own, section in functions(lines):
        name = re.search(r"(\w+)\(", text).group(1)
        if name.endswith("_"):
            continue
        if "Threads:" not in own + section:
            yield number, f"{name}: no 'Threads:'"
        if re.match(r"HD_API hd_status\b", text) and "Errors:" not in own + section:
            yield number, f"{name}: no 'Errors:'"
        if "**" in text and not re.search(r"Owner|free", own):
            yield number, f"{name}: no 'Owner:'"


def bad_types(lines):
    for number, line in enumerate(lines):
        found = re.match(r"(?:typedef )?(struct|union|enum) (\w+) {$", line)
        if not found or found.group(2).endswith("_"):
            continue
        comment = comment_above(lines, number)
        end = next(i for i in range(number, len(lines)) if lines[i].startswith("}"))
        members = "\n".join(text.split("//")[0] for text in lines[number + 1:end])
        if not comment:
            yield number, f"{found.group(2)}: no comment"
        elif "*" in members and "Owner" not in comment:
            yield number, f"{found.group(2)}: has pointers, and no 'Owner:'"


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                          else HERE.parent / "include/heddle")
    headers = sorted(folder.glob("*.h"))
    found = []
    for path in headers:
        lines = path.read_text().splitlines()
        for number, text in sorted([*bad_functions(lines), *bad_types(lines)]):
            found.append(f"{path}:{number + 1}: {text}")
    print("\n".join(found) or f"{len(headers)} headers: every function says its "
          "errors, owner and threads, every type what it is and whose")
    return 1 if found or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
