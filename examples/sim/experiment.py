#!/usr/bin/env python3
"""Make the tables and plots of docs/dispatch.md.

    python3 examples/sim/experiment.py SIMULATOR [--seeds 1-20]

SIMULATOR is the command that runs a workload, such as "heddle sim". The text
between the "made by" marks of docs/dispatch.md is replaced and the plots beside
it are written. Everything follows from the seeds.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parent.parent / "docs"
LOADS = ("0.7", "1.3")

BASELINES = ["sticky", "robin", "strict", "bestfit"]
# The better policy, and with each of its parts taken out.
PARTS = [
    ("balanced", "balanced"),
    ("without the urgent rank", "balanced,urgent=0,hold=0,backfill=0"),
    ("without size", "balanced,large=0"),
    ("without run times", "balanced,brief=0"),
    ("without a hold", "balanced,hold=0,backfill=0"),
    ("without backfill", "balanced,backfill=0"),
    ("most left instead of tightest", "balanced,left=1,tight=0"),
    ("without splitting", "balanced,split=0"),
    ("without windows", "balanced,runs=0"),
    ("windows as in plain", "balanced,lead=1"),
]
MECHANISMS = [
    ("plain", "plain"),
    ("plain, no windows", "plain,runs=0"),
    ("plain, windows of 256 runs", "plain,runs=4096"),
    ("plain, turns for marks", "plain,marks=0"),
    ("plain, no splitting", "plain,split=0"),
    ("plain, longest runs for counts", "plain,byrun=1"),
    ("plain, recent instructions", "plain,left=0,recent=1"),
    ("plain, best fit", "plain,left=0,tight=1"),
    ("plain, half left, half recent", "plain,left=1,recent=1"),
    ("plain, tail pointer", "plain,pointer=tail"),
]
FRONTIER = (
    [f"plain,runs={r},lead={l}" for r in (16, 512) for l in (1, 10, 100)]
    + ["strict", "bestfit", "sticky"]
    + [f"balanced,hold={h},backfill={b},large={g},brief={t}"
       for h in (0, 1, 2, 4) for b in (0, 1) for g, t in
       ((0, 0), (1000, 0), (1000, 70), (1000, 300)) if h or not b]
    + [f"balanced,lead={l}" for l in (1, 3, 10, 30)]
    + [f"balanced,urgent={u}" for u in (2, 3)]
)


def simulate(command, load, policy, seeds):
    out = subprocess.run(
        command + [str(HERE / f"standard-{load}.workload"), "--json", "--seeds",
                   seeds, "--policy", policy],
        check=True, capture_output=True, text=True).stdout
    lines = [json.loads(line) for line in out.splitlines()]
    return [line for line in lines if line["seed"] != "median"]


def ratio(results, peers, figure):
    return statistics.median(
        figure(a) / figure(b) for a, b in zip(results, peers))


def mean(r):
    return r["wait"]["mean"]


def high(r):
    return r["priority"][0]["mean"]


def low(r):
    return r["priority"][-1]["max"]


def work(r):
    return r["throughput"]


# Column, load, figure, peer, at most (<) or at least (>), bar.
BARS = [
    ("0.7 mean wait / sticky", "0.7", mean, "sticky", "<", 0.35),
    ("0.7 high wait / robin", "0.7", high, "robin", "<", 0.5),
    ("1.3 work / sticky", "1.3", work, "sticky", ">", 1.15),
    ("1.3 work / robin", "1.3", work, "robin", ">", 1.0),
    ("1.3 high wait / robin", "1.3", high, "robin", "<", 0.1),
    ("1.3 low longest / robin", "1.3", low, "robin", "<", 1.2),
]


def bar_row(name, results, all_results):
    cells = []
    for _, load, figure, peer, side, bar in BARS:
        value = ratio(results[load], all_results[peer][load], figure)
        holds = value <= bar if side == "<" else value >= bar
        cells.append(f"**{value:.3f}**" if holds else f"{value:.3f}")
    return f"| {name} | " + " | ".join(cells) + " |"


def bar_table(rows, all_results):
    head = "| policy | " + " | ".join(b[0] for b in BARS) + " |"
    need = "| bar | " + " | ".join(
        ("at most " if b[4] == "<" else "at least ") + str(b[5])
        for b in BARS) + " |"
    return "\n".join([head, "| --- |" + " --- |" * len(BARS), need] + [
        bar_row(name, all_results[policy], all_results)
        for name, policy in rows])


def figures_table(load, policies, all_results):
    lines = ["| policy | work | vector | memory | wait mean | p50 | p99 | max "
             "| priority 1 mean / p99 / max | 2 | 3 | 4 | modules | heat |",
             "| --- |" + " --- |" * 13]

    def median(rows, get):
        return statistics.median(get(r) for r in rows)

    for policy in policies:
        rows = all_results[policy][load]
        waits = [median(rows, lambda r: r["wait"][k])
                 for k in ("mean", "p50", "p99", "max")]
        by = [" / ".join(
            f"{median(rows, lambda r: r['priority'][p][k]) / 1000:.1f}"
            for k in ("mean", "p99", "max")) for p in range(4)]
        lines.append(
            f"| {policy} | {median(rows, work):.3f} "
            f"| {100 * median(rows, lambda r: r['used']['vector']):.0f} % "
            f"| {100 * median(rows, lambda r: r['used']['memory']):.0f} % | "
            + " | ".join(f"{w / 1000:.1f}" for w in waits) + " | "
            + " | ".join(by)
            + f" | {median(rows, lambda r: r['module_imbalance']):.3f} "
            f"| {median(rows, lambda r: r['heat_spread_mean']):.2f} |")
    return "\n".join(lines)


def svg(width, height, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="12">\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n'
            + "\n".join(body) + "\n</svg>\n")


def scatter(points, x_label, y_label, x_bar, y_bar, x_range, y_range, title):
    """points: (x, y, colour, label or None). The shaded part meets both bars."""
    w, h, left, top, right, bottom = 640, 420, 70, 34, 20, 50
    x0, x1 = x_range
    y0, y1 = y_range

    def px(x):
        return left + (min(max(x, x0), x1) - x0) / (x1 - x0) * (w - left - right)

    def py(y):
        return (h - bottom
                - (min(max(y, y0), y1) - y0) / (y1 - y0) * (h - top - bottom))

    body = [f'<text x="{w / 2}" y="18" text-anchor="middle">{title}</text>',
            f'<rect x="{px(x0):.1f}" y="{py(y1):.1f}" '
            f'width="{px(x_bar) - px(x0):.1f}" '
            f'height="{py(y_bar) - py(y1):.1f}" fill="#dff0d8"/>']
    for i in range(6):
        x = x0 + (x1 - x0) * i / 5
        y = y0 + (y1 - y0) * i / 5
        body += [
            f'<line x1="{px(x):.1f}" y1="{py(y0):.1f}" x2="{px(x):.1f}" '
            f'y2="{py(y1):.1f}" stroke="#ddd"/>',
            f'<text x="{px(x):.1f}" y="{h - bottom + 16}" '
            f'text-anchor="middle">{x:.2f}</text>',
            f'<line x1="{px(x0):.1f}" y1="{py(y):.1f}" x2="{px(x1):.1f}" '
            f'y2="{py(y):.1f}" stroke="#ddd"/>',
            f'<text x="{left - 6}" y="{py(y) + 4:.1f}" '
            f'text-anchor="end">{y:.2f}</text>']
    body += [f'<text x="{w / 2}" y="{h - 12}" text-anchor="middle">{x_label}'
             '</text>',
             f'<text x="16" y="{h / 2}" text-anchor="middle" '
             f'transform="rotate(-90 16 {h / 2})">{y_label}</text>']
    for x, y, colour, label in points:
        body.append(f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="4" '
                    f'fill="{colour}" fill-opacity="0.75"/>')
        if label:
            body.append(f'<text x="{px(x) + 7:.1f}" y="{py(y) + 4:.1f}">'
                        f'{label}</text>')
    return svg(w, h, body)


def bars_plot(policies, all_results, load, title):
    """Mean and longest wait of every priority, one group of bars per policy."""
    w, h, left, bottom, top = 640, 320, 60, 40, 34
    colours = ["#b2182b", "#ef8a62", "#67a9cf", "#2166ac"]
    rows = {p: [statistics.median(r["priority"][k]["mean"]
                                  for r in all_results[p][load])
                for k in range(4)] for p in policies}
    most = max(max(v) for v in rows.values())
    step = (w - left - 20) / len(policies)
    body = [f'<text x="{w / 2}" y="18" text-anchor="middle">{title}</text>']
    for i in range(5):
        y = h - bottom - (h - bottom - top) * i / 4
        body += [f'<line x1="{left}" y1="{y:.1f}" x2="{w - 20}" y2="{y:.1f}" '
                 'stroke="#ddd"/>',
                 f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">'
                 f'{most * i / 4 / 1000:.0f}k</text>']
    for i, p in enumerate(policies):
        for k, value in enumerate(rows[p]):
            height = value / most * (h - bottom - top)
            body.append(
                f'<rect x="{left + i * step + 8 + k * (step - 16) / 4:.1f}" '
                f'y="{h - bottom - height:.1f}" width="{(step - 18) / 4:.1f}" '
                f'height="{height:.1f}" fill="{colours[k]}"/>')
        body.append(f'<text x="{left + (i + 0.5) * step:.1f}" '
                    f'y="{h - bottom + 16}" text-anchor="middle">{p}</text>')
    for k in range(4):
        body.append(f'<rect x="{left + 10 + k * 90}" y="{h - 16}" width="10" '
                    f'height="10" fill="{colours[k]}"/>'
                    f'<text x="{left + 24 + k * 90}" y="{h - 7}">priority '
                    f'{k + 1}</text>')
    return svg(w, h, body)


def replace(text, mark, new):
    pattern = re.compile(
        rf"(<!-- {mark}: made by experiment.py -->\n).*?(<!-- end -->)", re.S)
    if not pattern.search(text):
        raise SystemExit(f"docs/dispatch.md has no mark '{mark}'")
    return pattern.sub(lambda m: m.group(1) + "\n" + new + "\n\n" + m.group(2),
                       text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("simulator")
    parser.add_argument("--seeds", default="1-20")
    args = parser.parse_args()
    command = shlex.split(args.simulator)

    policies = list(dict.fromkeys(
        BASELINES + [p for _, p in PARTS + MECHANISMS] + FRONTIER))
    jobs = [(p, load) for p in policies for load in LOADS]
    everything = {p: {} for p in policies}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = {pool.submit(simulate, command, load, p, args.seeds): (p, load)
                for p, load in jobs}
        for done, run in enumerate(concurrent.futures.as_completed(runs)):
            policy, load = runs[run]
            everything[policy][load] = run.result()
            if sys.stderr.isatty():
                print(f"\r{done + 1} of {len(jobs)} simulated", end="",
                      file=sys.stderr, flush=True)

    shown = BASELINES + ["plain", "balanced"]
    path = DOCS / "dispatch.md"
    text = path.read_text()
    text = replace(text, "bars", bar_table(
        [(p, p) for p in shown], everything))
    text = replace(text, "parts", bar_table(PARTS, everything))
    text = replace(text, "mechanisms", bar_table(MECHANISMS, everything))
    for load in LOADS:
        text = replace(text, f"figures {load}",
                       figures_table(load, shown, everything))
    path.write_text(text)

    def point(policy, x, y):
        values = []
        for name in (x, y):
            _, load, figure, peer, _, _ = BARS[name]
            values.append(ratio(everything[policy][load],
                                everything[peer][load], figure))
        colour = ("#b2182b" if policy == "balanced" else
                  "#2166ac" if policy.startswith("balanced") else
                  "#777777" if policy.startswith("plain") else "#1a9850")
        label = policy if policy in shown else None
        return (*values, colour, label)

    dots = list(dict.fromkeys(FRONTIER + ["robin", "plain", "balanced"]))
    (DOCS / "dispatch-frontier.svg").write_text(scatter(
        [point(p, 4, 3) for p in dots], "high-priority wait over robin",
        "work over robin", 0.1, 1.0, (0, 0.5), (0.9, 1.05),
        "load 1.3: what can be had (green area: both bars)"))
    (DOCS / "dispatch-light.svg").write_text(scatter(
        [(y, -x, c, l) for x, y, c, l in
         (point(p, 0, 1) for p in dots)],
        "high-priority wait over robin", "mean wait over sticky, negated",
        0.5, -0.35, (0.3, 1.1), (-0.55, -0.25),
        "load 0.7 (green area: both bars)"))
    (DOCS / "dispatch-waits.svg").write_text(bars_plot(
        ["sticky", "robin", "strict", "plain", "balanced"], everything, "1.3",
        "load 1.3: mean wait by priority [cycles]"))


if __name__ == "__main__":
    main()
