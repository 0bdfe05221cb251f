#!/usr/bin/env python3
"""Draw the plots in docs/images from the figures in bench/results.

    python3 scripts/plot_results.py            write them
    python3 scripts/plot_results.py --compare  fail when one is not that of its figures
"""
import json
import math
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
RESULTS, IMAGES = TOP / "bench" / "results", TOP / "docs" / "images"
WIDTH, NAME, GAP, ROW, HEAD = 800, 190, 30, 20, 52
OURS, MISSED, PEER, BAR = "#4e79a7", "#e15759", "#bab0ac", "#e15759"


def figures(bench):
    """The lines of one benchmark that have a value."""
    lines = (RESULTS / f"{bench}.jsonl").read_text().splitlines()
    return [f for f in map(json.loads, lines) if "value" in f]


class Panel:
    """Horizontal bars from 1 (or 0, where the scale is not logarithmic)."""

    def __init__(self, title, bars, scale="linear", bar=None):
        self.title, self.bars, self.log, self.bar = title, bars, scale == "log", bar

    def place(self, value, left, width):
        values = [v for v, _ in self.bars.values()] + ([self.bar] if self.bar else [])
        if not self.log:
            return left + width * value / max(values)
        low, high = min(values + [1]), max(values)
        return left + width * math.log(value / low) / math.log(high / low)

    def draw(self, rows, left, width):
        bars_width = width - 40  # the rest is for the number
        bottom = HEAD + ROW * len(rows)
        yield (f'<text x="{left}" y="22" font-weight="bold">{self.title}'
               f'{", logarithmic" if self.log else ""}</text>')
        marks = [(self.bar, BAR, f"bar {self.bar:g}")] if self.bar else []
        if not self.log:
            near = self.bar and self.bar < 1.3
            marks.append((1, "#888", "" if near else "1"))
        for mark, colour, text in marks:
            x = self.place(mark, left, bars_width)
            yield (f'<line x1="{x:.1f}" y1="{HEAD - 8}" x2="{x:.1f}" y2="{bottom}" '
                   f'stroke="{colour}" stroke-dasharray="3 3"/>'
                   f'<text x="{x:.1f}" y="{HEAD - 12}" text-anchor="middle" '
                   f'fill="{colour}">{text}</text>')
        for i, row in enumerate(rows):
            if row not in self.bars:
                continue
            value, colour = self.bars[row]
            x, y = self.place(value, left, bars_width), HEAD + ROW * i
            number = f"{value:.3g}" if value < 1000 else f"{value:.0f}"
            yield (f'<rect x="{left}" y="{y + 2}" width="{max(x - left, 1):.1f}" '
                   f'height="{ROW - 5}" fill="{colour}"/>'
                   f'<text x="{x + 4:.1f}" y="{y + 14}" paint-order="stroke" '
                   f'stroke="white" stroke-width="4">{number}</text>')


def plot(*panels):
    """Panels side by side, with a row for every name in any of them."""
    rows = list(dict.fromkeys(name for panel in panels for name in panel.bars))
    height = HEAD + ROW * len(rows) + 10
    width = (WIDTH - NAME - GAP * len(panels)) // len(panels)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    for i, row in enumerate(rows):
        lines.append(f'<text x="{NAME - 6}" y="{HEAD + ROW * i + 14}" '
                     f'text-anchor="end">{row}</text>')
    for i, panel in enumerate(panels):
        lines += panel.draw(rows, NAME + i * (width + GAP), width)
    return "\n".join(lines + ["</svg>", ""])


def chosen(bench, metric, ending="", peer=None):
    """Case -> (value, colour) of one metric, missed bars in another colour."""
    return {f["case"].removesuffix(ending):
            (f["value"], OURS if f.get("holds", True) else MISSED)
            for f in figures(bench)
            if f["metric"] == metric and f["case"].endswith(ending)
            and peer in (None, f.get("peer"))}


def kernels():
    cores = ", all cores"
    return plot(Panel("time over C", chosen("kernel", "time over C", cores), bar=2),
                Panel("speed over PoCL",
                      chosen("kernel", "speed over the peer", cores, "pocl"), "log"))


def checking():
    return plot(Panel("time checked", chosen("check", "time checked"), bar=10),
                Panel("time between guard pages",
                      chosen("check", "time between guard pages"), bar=1.05))


def tasks():
    names = {"c": "Heddle", "libgomp": "OpenMP, gcc", "libomp": "OpenMP, clang",
             "tbb": "oneTBB", "starpu": "StarPU"}
    costs = {names[f["peer"]]: (f["value"], OURS if f["peer"] == "c" else PEER)
             for f in figures("steal")
             if f["case"] == "fib" and f["metric"] == "cost of spawn and join"}
    return plot(Panel("fib: spawn and join, ns", costs, "log"))


stale = []
for draw in (kernels, checking, tasks):
    path = IMAGES / f"{draw.__name__}.svg"
    picture = draw()
    if sys.argv[1:] != ["--compare"]:
        path.write_text(picture)
    elif not path.exists() or path.read_text() != picture:
        stale.append(str(path.relative_to(TOP)))
if stale:
    sys.exit(f"not of the figures in bench/results: {', '.join(stale)}; "
             "run scripts/plot_results.py")
