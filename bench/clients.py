#!/usr/bin/env python3
"""Programs of others that use OpenCL, on Heddle and on PoCL in turn.

    bench/clients.py [--quick] BUILD

BUILD is the folder of a release build. Prints one JSON line per figure, as the
programs of bench/ do: what clpeak finds of the machine's peaks, as C reaches them
(bench_peaks); products of matrices by CLBlast, with and without what was built
before; hashes a second of ten kinds, by hashcat.
"""

import glob
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

# By number, and what it is called in figures.
HASHES = {0: "MD5", 100: "SHA1", 1400: "SHA2-256", 1700: "SHA2-512",
          1000: "NTLM", 3000: "LM", 500: "md5crypt", 1800: "sha512crypt",
          3200: "bcrypt", 22000: "WPA"}


# What is raised when a program is not there, fails, hangs or says something else.
FAILURES = (OSError, subprocess.TimeoutExpired, AttributeError, IndexError,
            ValueError)


def figure(case, metric, value, unit="ratio", peer=None, op=None, bar=None):
    line = {"bench": "clients", "case": case, "metric": metric}
    if isinstance(value, str):
        line |= {"skipped": value}
    else:
        line |= {"value": float(f"{value:.4g}"), "unit": unit}
    if peer:
        line["peer"] = peer
    if op:
        line |= {"op": op, "bar": bar}
        if not isinstance(value, str):
            line["holds"] = value <= bar if op == "<=" else value >= bar
    print(json.dumps(line), flush=True)


def run(words, env, limit=600):
    done = subprocess.run(words, env=env, capture_output=True, text=True,
                          timeout=limit, errors="replace",
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise OSError(f"{words[0]}: exit status {done.returncode}")
    return done.stdout


def each(drivers, measure):
    """What measure(env) finds of each driver, or, as text, why it failed."""
    found = {}
    for driver, env in drivers.items():
        try:
            found[driver] = measure(env)
        except FAILURES as wrong:
            found[driver] = f"{driver} failed: {wrong}"
    return found


def pick(found, key):
    return {d: f if isinstance(f, str) else f[key] for d, f in found.items()}


def ratio(case, metric, unit, values, op, bar):
    """Print ours over PoCL's and return it; what there is of the two, if one of
    them has none."""
    values = {"pocl": "PoCL is not installed"} | values
    wrong = [v for v in values.values() if isinstance(v, str)]
    if wrong:
        for driver, value in values.items():
            if not isinstance(value, str):
                figure(case, f"of {driver}", value, unit)
        figure(case, metric, "; ".join(wrong), peer="pocl", op=op, bar=bar)
        return None
    value = values["heddle"] / values["pocl"]
    figure(case, metric, value, peer="pocl", op=op, bar=bar)
    return value


def peak(text, heading, word):
    """The largest of clpeak's figures below a heading, which begin with a word."""
    part = text.split(heading, 1)[1].split("\n\n", 1)[0]
    return max(float(x) for x in re.findall(rf"{word}\d*\s*:\s*([\d.]+)", part))


def clpeak(drivers, build, quick):
    if not shutil.which("clpeak"):
        figure("clpeak", "all", "clpeak is not installed")
        return
    c = {line["metric"]: line["value"] for line in map(
        json.loads, run([os.path.join(build, "bench", "bench_peaks")] +
                        ["--quick"] * quick, os.environ).splitlines())}
    for name, value in c.items():
        figure("C, all cores", name, value,
               "GB/s" if name == "triad" else "G/s")

    def measure(env):
        text = run(["clpeak", "--compute-sp", "--compute-dp",
                    "--compute-integer", "--global-bandwidth",
                    "--kernel-latency"], env)
        return {
            "float": peak(text, "Single-precision compute", "float"),
            "double": peak(text, "Double-precision compute", "double"),
            "int": peak(text, "Integer compute", "int"),
            "bandwidth": peak(text, "Global memory bandwidth", "float"),
            "latency": float(re.search(r"latency\s*:\s*([\d.]+) us", text)[1])}

    found = each(drivers, measure)
    for name, most, unit in [("float", "single", "G/s"),
                             ("double", "double", "G/s"),
                             ("int", "integer", "G/s"),
                             ("bandwidth", "triad", "GB/s")]:
        ours = pick(found, name)["heddle"]
        figure(f"clpeak, {name}", "of C's peak",
               ours if isinstance(ours, str) else ours / c[most], peer="c",
               op=">=", bar=0.9)
        ratio(f"clpeak, {name}", "speed over PoCL", unit, pick(found, name),
              None, None)
    ratio("clpeak, latency", "time over PoCL", "us", pick(found, "latency"),
          None, None)


def clblast(drivers, build, quick):
    program = os.path.join(build, "bench", "clients_blas")
    if not os.path.exists(program):
        figure("CLBlast sgemm, 512", "all", "libclblast-dev is not installed")
        return

    def measure(env):
        first, again, later = [], [], []
        for _ in range(1 if quick else 3):
            with tempfile.TemporaryDirectory() as folder:
                env = env | {"HEDDLE_CACHE": folder, "POCL_CACHE_DIR": folder}
                first.append(float(run([program], env).split()[0]))
                begin, one = map(float, run([program], env).split())
                again.append(begin)
                later.append(one)
        return [statistics.median(x) for x in (first, again, later)]

    times = each(drivers, measure)
    for i, (case, bar) in enumerate([("first, no cache", 0.2), ("cached", 0.5),
                                     ("later ones", None)]):
        ratio(f"CLBlast sgemm of 512, {case}", "time over PoCL", "ms",
              pick(times, i), "<=" if bar else None, bar)


def hashcat(drivers, build, quick):
    if not shutil.which("hashcat"):
        figure("hashcat", "all", "hashcat is not installed")
        return
    sums = []
    for mode, name in list(HASHES.items())[:4 if quick else None]:
        def measure(env, mode=mode):
            with tempfile.TemporaryDirectory() as folder:
                text = run(["hashcat", "-b", "-m", str(mode), "--quiet",
                            "--machine-readable"],
                           env | {"HOME": folder, "POCL_CACHE_DIR": folder})
            return float(re.findall(rf"^\d+:{mode}:.*:([\d.]+)$", text,
                                    re.M)[-1])

        value = ratio(f"hashcat, {name}", "speed over PoCL", "hashes/s",
                      each(drivers, measure), ">=", 0.95)
        if value:
            sums.append(math.log(value))
    if sums:
        figure(f"hashcat, geometric mean of {len(sums)}", "speed over PoCL",
               math.exp(sum(sums) / len(sums)), peer="pocl", op=">=", bar=1.5)


def main():
    words = [w for w in sys.argv[1:] if w != "--quick"]
    if len(words) != 1 or words[0].startswith("-"):
        sys.exit(__doc__.split("\n\n", 2)[1])
    build, quick = words[0], "--quick" in sys.argv
    vendors = {"heddle": os.path.join(build, "vendors") + "/"}
    for path in glob.glob("/etc/OpenCL/vendors/pocl.icd"):
        vendors["pocl"] = path
    drivers = {d: {**os.environ, "OCL_ICD_VENDORS": v}
               for d, v in vendors.items()}
    for program in (clpeak, clblast, hashcat):
        try:
            program(drivers, build, quick)
        except FAILURES as wrong:
            figure(program.__name__, "all", f"failed: {wrong}")


if __name__ == "__main__":
    main()
