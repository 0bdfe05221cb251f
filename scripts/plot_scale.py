#!/usr/bin/env python3
"""Draw docs/images/scale-weak.svg and scale-strong.svg from bench/results/scale.jsonl.

    python3 scripts/plot_scale.py            write them
    python3 scripts/plot_scale.py --compare  fail when one is not that of its figures
"""
import json
import math
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
LINES = (TOP / "bench" / "results" / "scale.jsonl").read_text().splitlines()
IMAGES = TOP / "docs" / "images"
NAMES = {"transposed": "A + B^T", "stencil": "stencil", "tiles": "redistribution to tiles",
         "rows": "rows to columns", "sort": "sort", "agreement": "agreement"}
COLOURS = ["#4e79a7", "#e15759", "#59a14f", "#b07aa1", "#f28e2b", "#76b7b2"]
WIDTH, HEIGHT, LEFT, TOP_EDGE, BOTTOM, LABELS = 800, 360, 60, 40, 320, 250


def curves(strong):
    """(case, shape) -> {nodes: time}, of the study's lines."""
    found = {}
    for line in map(json.loads, LINES):
        if (line["own"] == 0) == strong:
            found.setdefault((line["case"], line["shape"]), {})[line["nodes"]] = line["us"]
    return found


def plot(strong, title):
    """Time over that of the fewest nodes (strong: speed-up), both logarithmic."""
    lines, found = [], curves(strong)
    values, nodes = [], sorted({n for c in found.values() for n in c})
    scaled = {}
    for key, times in found.items():
        first = times[min(times)]
        scaled[key] = {n: first / t if strong else t / first for n, t in times.items()}
        values += scaled[key].values()
    low, high = math.log(min(values + [1])), math.log(max(values + [2]))

    def x(n):
        span = math.log(nodes[-1] / nodes[0])
        return LEFT + (WIDTH - LABELS - LEFT) * math.log(n / nodes[0]) / span

    def y(v):
        return BOTTOM - (BOTTOM - TOP_EDGE) * (math.log(v) - low) / (high - low)

    lines += [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
              'font-family="sans-serif" font-size="12">',
              f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
              f'<text x="{LEFT}" y="22" font-weight="bold">{title}</text>']
    for n in nodes:
        lines.append(f'<text x="{x(n):.1f}" y="{BOTTOM + 18}" text-anchor="middle">{n}</text>'
                     f'<line x1="{x(n):.1f}" y1="{TOP_EDGE}" x2="{x(n):.1f}" y2="{BOTTOM}" '
                     'stroke="#eee"/>')
    for v in (0.5, 1, 2, 4, 8, 16, 32):
        if low <= math.log(v) <= high:
            lines.append(f'<text x="{LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v:g}'
                         f'</text><line x1="{LEFT}" y1="{y(v):.1f}" x2="{WIDTH - LABELS}" '
                         f'y2="{y(v):.1f}" stroke="#ddd"/>')
    for row, (key, points) in enumerate(sorted(scaled.items())):
        case, shape = key
        colour = COLOURS[list(NAMES).index(case)]
        dash = ' stroke-dasharray="5 3"' if shape == "torus" else ""
        path = " ".join(f"{x(n):.1f},{y(v):.1f}" for n, v in sorted(points.items()))
        at = TOP_EDGE + 20 * row
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                     f'stroke-width="2"{dash}/>'
                     f'<line x1="{WIDTH - LABELS + 20}" y1="{at}" x2="{WIDTH - LABELS + 50}" '
                     f'y2="{at}" stroke="{colour}" stroke-width="2"{dash}/>'
                     f'<text x="{WIDTH - LABELS + 56}" y="{at + 4}">{NAMES[case]}, {shape}'
                     '</text>')
    lines.append(f'<text x="{LEFT}" y="{HEIGHT - 6}">simulated nodes</text>')
    return "\n".join(lines + ["</svg>", ""])


stale = []
for name, picture in (
        ("scale-weak", plot(False, "Weak scaling: time over that of 4 nodes")),
        ("scale-strong", plot(True, "Strong scaling: speed over that of 4 nodes"))):
    file = IMAGES / f"{name}.svg"
    if sys.argv[1:] != ["--compare"]:
        file.write_text(picture)
    elif not file.exists() or file.read_text() != picture:
        stale.append(file.name)
if stale:
    sys.exit(f"not of the figures in bench/results: {', '.join(stale)}; "
             "run scripts/plot_scale.py")
