#!/usr/bin/env python3
"""Draw who computed what and when: plot_timeline.py TRACE.json > TIMELINE.svg

Reads a trace written by `heddle run --trace` and draws one row per worker, one
box per span of work-groups, coloured by kernel. The picture in the README is
made with it.
"""
import json
import sys

WIDTH, LEFT, ROW, GAP, TOP = 1000, 80, 34, 10, 14
COLOURS = ["#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948",
           "#b07aa1", "#ff9da7", "#9c755f", "#86bcb6", "#d37295", "#8cd17d"]


def merged(spans, gap):
    """Spans of one kernel that follow each other closely become one box."""
    boxes = []
    for begin, end, name in sorted(spans):
        if boxes and boxes[-1][2] == name and begin - boxes[-1][1] < gap:
            boxes[-1][1] = max(end, boxes[-1][1])
        else:
            boxes.append([begin, end, name])
    return boxes


events = json.load(open(sys.argv[1]))["traceEvents"]
rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
chunks = [e for e in events if e.get("cat") == "chunk" and e["ph"] == "X"]
if not chunks:
    sys.exit(f"{sys.argv[1]}: no kernel ran in this trace")
start = min(e["ts"] for e in chunks)
length = max(e["ts"] + e["dur"] for e in chunks) - start
scale = (WIDTH - LEFT - 10) / length
names = list(dict.fromkeys(e["name"] for e in sorted(chunks, key=lambda e: e["ts"])))
colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
workers = sorted({e["tid"] for e in chunks}, key=lambda tid: rows[tid])
per_line = 6
lines = -(-len(names) // per_line)
bottom = TOP + len(workers) * (ROW + GAP)
height = bottom + 24 + 18 * lines

print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
      'font-family="sans-serif" font-size="12">')
print(f'<rect width="{WIDTH}" height="{height}" fill="white"/>')
for row, tid in enumerate(workers):
    y = TOP + row * (ROW + GAP)
    print(f'<text x="6" y="{y + ROW / 2 + 4}">{rows[tid]}</text>')
    spans = [(e["ts"] - start, e["ts"] - start + e["dur"], e["name"])
             for e in chunks if e["tid"] == tid]
    for begin, end, name in merged(spans, length / 2000):
        print(f'<rect x="{LEFT + begin * scale:.1f}" y="{y}" '
              f'width="{max((end - begin) * scale, 0.3):.1f}" height="{ROW}" '
              f'fill="{colour[name]}"/>')
print(f'<text x="{LEFT}" y="{bottom + 8}">0</text>')
print(f'<text x="{WIDTH - 10}" y="{bottom + 8}" text-anchor="end">'
      f'{length / 1000:.1f} ms</text>')
for i, name in enumerate(names):
    x = LEFT + i % per_line * (WIDTH - LEFT) / per_line
    y = bottom + 24 + 18 * (i // per_line)
    print(f'<rect x="{x:.0f}" y="{y - 10}" width="11" height="11" fill="{colour[name]}"/>'
          f'<text x="{x + 16:.0f}" y="{y}">{name}</text>')
print("</svg>")
