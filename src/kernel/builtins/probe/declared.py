#!/usr/bin/env python3
"""Whether the builtins have every function that clang declares for OpenCL C.

    declared.py CLANG NM BUILTINS.bc OPENCL.h

clang's header has one declaration for each function and type. A call of each is
compiled as user code is; what is then undefined must be in BUILTINS.bc. Prints
what is missing, and ends with 1 if there is any.
"""
import re
import subprocess
import sys
import tempfile

# The compiler answers these itself.
ANSWERED = set("""barrier get_work_dim get_global_size get_global_id
    get_local_size get_enqueued_local_size get_local_id get_num_groups
    get_group_id get_global_offset""".split())
# Kernels launch no others, and there are no pipes.
REFUSED = set("""ndrange_1D ndrange_2D ndrange_3D enqueue_marker retain_event
    release_event create_user_event is_valid_event set_user_event_status
    capture_event_profiling_info get_default_queue
    is_valid_reserve_id""".split())
SCALAR = (r"(unsigned|signed|bool|char|uchar|short|ushort|int|uint|long|ulong|"
          r"half|float|double|const|volatile|void|\w+_t|atomic_\w+|memory_\w+|"
          r"\w+_flags|\w+_info)(2|3|4|8|16)?")
LEAST = 5000  # declarations, or the header is not understood


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr[:2000]}")
    return done.stdout


def parameter(text, number):
    """The type of a parameter whose name, if any, is dropped; and a name."""
    found = re.match(r"^(.*[\s*])(\w+)$", text)
    if found and not re.fullmatch(SCALAR, found[2]):
        text = found[1]
    return f"{text.strip()} p{number}"


def calls(header):
    """A function for each declaration, that calls the declared one."""
    header = re.sub(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)", "", header)
    found = re.findall(r"(\w[\w\s*]*?)\b(\w+)\s*\(([^()]*)\)\s*;", header)
    declared = sorted({(name, " ".join(arguments.split()))
                       for result, name, arguments in found
                       if result.strip() and "typedef" not in result})
    text = ["#pragma OPENCL EXTENSION cl_khr_fp16 : enable"]
    for i, (name, arguments) in enumerate(declared):
        if name in REFUSED or "..." in arguments:
            continue
        types = [] if arguments in ("", "void") else arguments.split(",")
        parameters = ", ".join(parameter(t.strip(), n)
                               for n, t in enumerate(types))
        given = ", ".join(f"p{n}" for n in range(len(types)))
        text.append(f"void f{i}({parameters}) {{ (void){name}({given}); }}")
    if len(text) < LEAST:
        sys.exit(f"{len(text)} declarations found, not {LEAST} and more")
    return "\n".join(text)


def plain(symbol):
    """The name in the source."""
    found = re.match(r"_Z(\d+)", symbol)
    return symbol[found.end():][:int(found[1])] if found else symbol


def main():
    clang, nm, builtins, opencl = sys.argv[1:]
    defined = {line.split()[-1]
               for line in run([nm, "--defined-only", builtins]).splitlines()}
    names = re.findall(r'X\("(\w+)", \d\)', open(opencl).read())
    flags = ["-x", "cl", "--target=spir64-unknown-unknown", "-Xclang",
             ",".join(["-cl-ext=-all"] + ["+" + name for name in names])]
    folder = run([clang, "-print-resource-dir"]).strip()
    failed = False
    for version in "1.2", "2.0", "3.0":
        std = [clang, *flags, f"-cl-std=CL{version}"]
        header = run([*std, "-E", "-P", "-"],
                     f'#include "{folder}/include/opencl-c.h"\n')
        with tempfile.NamedTemporaryFile(suffix=".bc") as code:
            run([*std, "-O0", "-w", "-emit-llvm", "-c", "-o", code.name, "-"],
                calls(header))
            used = run([nm, "--undefined-only", code.name]).splitlines()
        missing = {line.split()[-1] for line in used} - defined
        missing = [m for m in sorted(missing) if plain(m) not in ANSWERED]
        for symbol in missing:
            print(f"OpenCL C {version} lacks {plain(symbol)}: {symbol}")
        print(f"OpenCL C {version}: {len(used)} functions, "
              f"{len(missing)} missing")
        failed |= missing != []
    sys.exit(failed)


main()
