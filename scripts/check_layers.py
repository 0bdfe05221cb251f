#!/usr/bin/env python3
"""Check who includes whom, as src/LAYERS says.

A file under src/ includes its own folder and the layers below it. Folders
inside a layer (one per backend or transport) are private: nobody but the folder
itself includes them. A folder may have a list of its own, as src/kernel/compiler
has: its folders are private to it, and include themselves and those below them
on the list. A foreign header stays in the one folder that hides it. The command
and the examples use the public headers only, but for the simulator, which is
built on the dispatch layer, and the planners of the graph layer.

ARCHITECTURE.md draws the layers: a file includes only its own layer and those on
lines of the picture below its own, and each file the page names is there.

A folder of src/ has at most 25 sources and headers in C beside its tests. In each room of
the compiler one begins "Main header of" it.

No units, a header and the source file of its name, include each other, be it by
way of others.

Prints one line per violation; exit status 1 when there is one.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
ROOT = ROOT if ROOT.is_dir() else ROOT.parent.parent
SRC = ROOT / "src"

# Folder with a list: the folders on it, those above first.
LISTS = {
    file.parent.relative_to(SRC).as_posix(): re.findall(
        r"^[a-z]+", file.read_text(), re.MULTILINE
    )
    for file in SRC.rglob("LAYERS")
}
LAYERS = LISTS["."]

# Folders of such a list that other folders may include.
OPEN = {
    (file.parent / room).relative_to(SRC).as_posix()
    for file in SRC.rglob("LAYERS")
    for room in re.findall(r"^([a-z]+) +open:", file.read_text(), re.MULTILINE)
}

# Files of a folder, beside tests: as many as can be taken in at once.
MAX_FILES = 25

# Header pattern: the only folder that may include it.
HOMES = {
    r"cuda.*": "backend/cuda",
    r"mpi\.h": "transport/mpi",
    r"(llvm|clang)-c/.*": "kernel",
    r"CL/.*": "icd",
    r"lua.*|lauxlib\.h": "graph",
    r"hwloc.*": "base",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^">]+)', re.MULTILINE)


def is_in(folder, home):
    return folder == home or folder.startswith(home + "/")


def room_of(folder):
    """The innermost folder with a list that this one is in, and its name there."""
    inside = [h for h in LISTS if h != "." and is_in(folder, h) and folder != h]
    if not inside:
        return None, None
    home = max(inside, key=len)
    return home, folder[len(home) + 1 :].split("/")[0]


def complaint_of_rooms(name, folder, target):
    home, room = room_of(folder)
    target_home, target_room = room_of(target)
    if target_home != home:
        if not is_in(folder, target_home) and target not in OPEN:
            return f"includes {name}, which is private to {target_home}"
        return None
    rooms = LISTS[home]
    if target_room not in rooms:
        return f"includes {name}, but {target_room} is not in src/{home}/LAYERS"
    if room in rooms and rooms.index(target_room) < rooms.index(room):
        return f"includes {name}, but {target_room} is above {room}"
    return None


def complaints_in_source(file):
    folder = file.parent.relative_to(SRC).as_posix()
    layer = folder.split("/")[0]
    if layer not in LAYERS:
        yield f"the folder {layer} is not in src/LAYERS"
        return
    home, room = room_of(folder)
    if home and room not in LISTS[home]:
        yield f"the folder {room} is not in src/{home}/LAYERS"
    for name in INCLUDE.findall(file.read_text()):
        target = name.rpartition("/")[0]
        target_layer = target.split("/")[0]
        if target_layer in LAYERS:
            if LAYERS.index(target_layer) < LAYERS.index(layer):
                yield f"includes {name}, but {target_layer} is above {layer}"
            elif room_of(target)[0]:
                complaint = complaint_of_rooms(name, folder, target)
                if complaint:
                    yield complaint
            elif "/" in target and not is_in(folder, target):
                yield f"includes {name}, which is private to {target}"
        for pattern, home in HOMES.items():
            if re.fullmatch(pattern, name) and not is_in(folder, home):
                yield f"includes {name}; only {home} may"


def files_of(folder):
    return [f for f in folder.glob("*.[ch]") if "_test" not in f.stem]


def complaints_about_sizes():
    for folder in [SRC, *(f for f in SRC.rglob("*") if f.is_dir())]:
        name = folder.relative_to(SRC).as_posix()
        count = len(files_of(folder))
        if count > MAX_FILES:
            yield f"src/{name}: has {count} files, more than {MAX_FILES}"


def complaints_about_rooms(home):
    for room in LISTS[home]:
        folder = f"src/{home}/{room}"
        files = files_of(SRC / home / room)
        plate = f"// Main header of {room}"
        plates = [f for f in files if f.read_text().startswith(plate)]
        if len(plates) != 1:
            yield f"{folder}: {len(plates)} files begin '{plate}'"


# Outside src/: folder, and the layers it may use from the inside.
INSIDERS = {
    "command/sim": ["graph", "dispatch", "base"],
    "command/plan": ["graph", "base"],
}


def complaints_outside(file):
    folder = file.parent.relative_to(ROOT).as_posix()
    for name in INCLUDE.findall(file.read_text()):
        layer = name.split("/")[0]
        if layer in LAYERS and layer not in INSIDERS.get(folder, []):
            yield f"includes {name}; only heddle/*.h may be used here"


PAGE = ROOT / "ARCHITECTURE.md"
NAME_IN_PAGE = re.compile(r"`([\w./-]+\.(?:[ch]|md|def)|[\w./-]+/)`")


def lines_of_picture(text):
    """Of each layer that the first picture shows, the lines it stands on."""
    picture = re.search(r"(?:^(?: {4}.*)?\n)+", text[text.index("\n    ") :], re.MULTILINE)
    lines = {}
    for number, line in enumerate(picture.group().split("\n")):
        # What stands behind a gap of five spaces, after a name, explains it.
        drawn = re.match(r".*?[a-z](?= {5}|$)", line)
        for word in re.findall(r"[a-z]+", drawn.group() if drawn else ""):
            lines.setdefault(word, []).append(number)
    return lines


def complaints_about_page(includes):
    """`includes`: pairs of layers, the first of which includes the second."""
    text = PAGE.read_text()
    lines = lines_of_picture(text)
    for layer in LAYERS:
        if len(lines.get(layer, [])) != 1:
            yield f"the picture shows {layer} {len(lines.get(layer, []))} times"
    for word in sorted(lines.keys() - set(LAYERS)):
        yield f"the picture shows {word}, which is not in src/LAYERS"
    for upper, lower in sorted(includes):
        if lines.get(upper, [0])[0] >= lines.get(lower, [1])[0]:
            yield f"the picture must show {lower}, which {upper} includes, below it"
    tops = ("src", "include", "command", "docs", "tests", "examples", "bench")
    files = {f.relative_to(ROOT).as_posix() for t in tops for f in (ROOT / t).rglob("*")}
    files.update(tops)
    names = {f.rpartition("/")[2] for f in files if f.startswith("src/")}
    for name in sorted(set(NAME_IN_PAGE.findall(text))):
        there = name.rstrip("/")
        if not ({there, f"src/{there}", f"include/{there}"} & files or name in names):
            yield f"there is no {name}"


def units_of(files):
    """Of each unit, the units that it includes."""
    units = {}
    for file in files:
        if file.stem.endswith("_test"):
            continue
        name = file.relative_to(SRC).with_suffix("").as_posix()
        included = {n[:-2] for n in INCLUDE.findall(file.read_text())}
        units.setdefault(name, set()).update(included - {name})
    return {name: included & units.keys() for name, included in units.items()}


def reachable(units, start):
    """The units that a unit includes, be it by way of others."""
    seen, todo = set(), list(units[start])
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += units[name]
    return seen


def main():
    found = []
    sources = sorted(SRC.rglob("*.[ch]"))
    for file in sources:
        found += [(file, text) for text in complaints_in_source(file)]
    for folder in ("command", "examples", "include"):
        for file in sorted((ROOT / folder).rglob("*.[ch]")):
            found += [(file, text) for text in complaints_outside(file)]
    for file, text in found:
        print(f"{file.relative_to(ROOT)}: {text}")
    includes = {
        (file.relative_to(SRC).parts[0], name.split("/")[0])
        for file in sources
        for name in INCLUDE.findall(file.read_text())
    }
    about_page = [
        *complaints_about_page(
            {(a, b) for a, b in includes if a in LAYERS and b in LAYERS and a != b}
        )
    ]
    for text in about_page:
        print(f"ARCHITECTURE.md: {text}")
    about_rooms = [*complaints_about_rooms("kernel/compiler"), *complaints_about_sizes()]
    for text in about_rooms:
        print(text)
    units = units_of(sources)
    circle = {name for name in units if name in reachable(units, name)}
    for name in sorted(circle):
        back = sorted(n for n in units[name] & circle if name in reachable(units, n))
        print(f"src/{name}: in a cycle of includes: it includes {' '.join(back)}")
    return bool(found or circle or about_page or about_rooms)


sys.exit(main())
