#!/usr/bin/env python3
"""Check that each public function says which threads may call it.

Usage: check_headers.py [FOLDER]

`Threads:` stands in the comment right above a declaration or a block of them,
or in a comment of '//' lines, where it speaks for all below it up to the next
heading ("// Word ---"). Names that end in '_' are private.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent


def undocumented(path):
    section = own = False
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if re.match(r"// .* -{3,}$", line):
            section = False
        if not line.strip():
            own = False
        if "Threads:" in line and line.startswith("///"):
            own = True
        elif "Threads:" in line and line.startswith("//"):
            section = True
        elif line.startswith("///") and not lines[number - 2].startswith("///"):
            own = False  # a comment below another declaration
        if line.startswith("HD_API"):
            rest = " ".join(lines[number - 1:number + 3])
            name = re.search(r"(\w+)\(", rest).group(1)
            if not (section or own or name.endswith("_")):
                yield f"{path}:{number}: {name}: no 'Threads:'"


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                          else HERE.parent / "include/heddle")
    headers = sorted(folder.glob("*.h"))
    found = [text for path in headers for text in undocumented(path)]
    print("\n".join(found) or f"{len(headers)} headers: every function says "
          "which threads may call it")
    return 1 if found or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
