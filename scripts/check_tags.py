#!/usr/bin/env python3
"""Check that an internal tag (struct, union or enum hdi_...) has one definition.

Usage: check_tags.py [FOLDER]

A reader who searches for a tag finds one thing. What each back end or each
transport defines in its own way, behind one declaration, stands in OPAQUE; a
test may define it, too, for one of its own.
Limits are called MAX; MOST is a second word for the same thing.
"""

import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
OPAQUE = {
    "hdi_entry": "src/backend/",       # a kernel of loaded code
    "hdi_shared": "src/transport/",    # memory that nodes share
    "hdi_transfer": "src/transport/",  # a message under way
}
LIMIT = re.compile(r"\b(?:[A-Z0-9]+_)*MOST(?:_[A-Z0-9]+)*\b")
DEFINITION = re.compile(r"^(?:typedef )?(?:struct|union|enum) (hdi_\w+) \{", re.M)


def main():
    root = HERE.parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "src"
    places = collections.defaultdict(list)
    wrong = 0
    for path in sorted(folder.rglob("*.[ch]")):
        text = path.read_text()
        for tag in DEFINITION.findall(text):
            places[tag].append(path)
        for limit in sorted(set(LIMIT.findall(text))):
            wrong += 1
            print(f"{path}: {limit}: call a limit MAX")
    for tag, paths in sorted(places.items()):
        home = root / OPAQUE.get(tag, "-")
        if len(paths) > 1 and not all(
                home in path.resolve().parents
                or (tag in OPAQUE and path.name.endswith("_test.c")) for path in paths):
            wrong += 1
            print(f"{tag}: defined {len(paths)} times: "
                  + ", ".join(str(path) for path in paths))
    if not wrong:
        print(f"{len(places)} internal tags, each defined once")
    return 1 if wrong or not places else 0


if __name__ == "__main__":
    sys.exit(main())
