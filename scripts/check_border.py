#!/usr/bin/env python3
"""Check that libheddle and its compiler module agree on all headers that both see.

Usage: check_border.py [FOLDER]

cmake/compiler.cmake lists headers: a module that was built with others is refused.
On the border are those outside of the compiler's folder that its sources include, and
what these include. A header that is missing from the list would let a module hand over
structures of another build; one that is there in vain would refuse it for nothing.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
MADE = {"tools.h"}  # by the build: it holds the border


def included(path):
    return re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)


def find(root, name):
    for folder in ("src", "include"):
        if (root / folder / name).exists():
            return f"{folder}/{name}"
    return None


def headers_of_border(root):
    """Map each header on the border to a file that includes it."""
    inside = "kernel/compiler/"
    found, to_do = {}, []
    for path in sorted((root / "src" / inside).glob("*/*.[ch]")):
        if not re.search(r"_test\.c$|^try_", path.name):
            to_do += [(name, path) for name in included(path)]
    while to_do:
        name, path = to_do.pop()
        header = find(root, name)
        if name.startswith(inside) or name in MADE or header in found:
            continue
        if not header:
            sys.exit(f"{path.relative_to(root)}: there is no {name}")
        found[header] = path.relative_to(root)
        to_do += [(other, root / header) for other in included(root / header)]
    return found


def headers_listed(root):
    text = (root / "cmake" / "compiler.cmake").read_text()
    return set(re.search(r"foreach\(header ([^)]*)\)", text).group(1).split())


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent
    needed, listed = headers_of_border(root), headers_listed(root)
    for header in sorted(set(needed) - listed):
        print(f"cmake/compiler.cmake: {header} is on the border too, "
              f"{needed[header]} includes it")
    for header in sorted(listed - set(needed)):
        print(f"cmake/compiler.cmake: {header} is not on the border")
    return set(needed) != listed


if __name__ == "__main__":
    sys.exit(main())
