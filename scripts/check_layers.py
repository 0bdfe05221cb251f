#!/usr/bin/env python3
"""Check who includes whom, as src/LAYERS says.

A file under src/ includes its own folder and the layers below it. Folders
inside a layer (one per backend or transport) are private: nobody but the folder
itself includes them. A foreign header stays in the one folder that hides it.
The command and the examples use the public headers only, but for the simulator,
which is built on the dispatch layer.

Prints one line per violation; exit status 1 when there is one.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
ROOT = ROOT if ROOT.is_dir() else ROOT.parent.parent
SRC = ROOT / "src"
LAYERS = re.findall(r"^[a-z]+", (SRC / "LAYERS").read_text(), re.MULTILINE)

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


def complaints_in_source(file):
    folder = file.parent.relative_to(SRC).as_posix()
    layer = folder.split("/")[0]
    if layer not in LAYERS:
        yield f"the folder {layer} is not in src/LAYERS"
        return
    for name in INCLUDE.findall(file.read_text()):
        target = name.rpartition("/")[0]
        target_layer = target.split("/")[0]
        if target_layer in LAYERS:
            if LAYERS.index(target_layer) < LAYERS.index(layer):
                yield f"includes {name}, but {target_layer} is above {layer}"
            elif "/" in target and not is_in(folder, target):
                yield f"includes {name}, which is private to {target}"
        for pattern, home in HOMES.items():
            if re.fullmatch(pattern, name) and not is_in(folder, home):
                yield f"includes {name}; only {home} may"


# Outside src/: folder, and the layers it may use from the inside.
INSIDERS = {"command/sim": ["dispatch", "base"]}


def complaints_outside(file):
    folder = file.parent.relative_to(ROOT).as_posix()
    for name in INCLUDE.findall(file.read_text()):
        layer = name.split("/")[0]
        if layer in LAYERS and layer not in INSIDERS.get(folder, []):
            yield f"includes {name}; only heddle/*.h may be used here"


found = []
for file in sorted(SRC.rglob("*.[ch]")):
    found += [(file, text) for text in complaints_in_source(file)]
for folder in ("command", "examples", "include"):
    for file in sorted((ROOT / folder).rglob("*.[ch]")):
        found += [(file, text) for text in complaints_outside(file)]

for file, text in found:
    print(f"{file.relative_to(ROOT)}: {text}")
sys.exit(bool(found))
