#!/usr/bin/env -S python3 -B
"""chart.py - draw the results of bench/measure.py: our speed divided by a peer's.

    tools/pictures/chart.py performance.json performance.svg

There is a panel for each store and peer of PANELS (flock(2) is left out: it stores nothing, and is a
hundred times as fast as everything that writes), a row for each scenario with a free lock or with turns
without hold time, and a bar for each distance, on a logarithmic scale.  The tables have the rest.
"""
import json
import math
import pathlib
import sys

import paint

WIDTH, LABEL, RIGHT = 760, 285, 50
BAR, GAP, HEAD = 13, 9, 34
PANELS = [  # store, side, heading
    ("zookeeper", "Curator", "ZooKeeper, times a warm Curator"),
    ("redis", "redlock", "Redis, times redlock"),
    ("redis", "SET NX, delete", "Redis, times a bare SET NX and its delete"),
    ("postgres", "advisory", "PostgreSQL, times pg_advisory_lock, which writes nothing"),
    ("postgres", "two updates", "PostgreSQL, times two bare updates, each committed"),
    ("sqlite", "two writes", "SQLite, times two bare writes"),
]
STYLE = paint.PAGE + f"""text{{font:13px {paint.SANS};fill:var(--dim)}}
.head{{font-size:14px;font-weight:600;fill:var(--text)}}
.value{{font-size:12px;fill:var(--text)}}
.grid{{stroke:var(--edge);fill:none}}.one{{stroke:var(--text);fill:none;stroke-width:1.3}}
.d0{{fill:var(--dim)}}.d1{{fill:var(--blue)}}.d2{{fill:var(--green)}}.d3{{fill:var(--red)}}
"""


def dump(document):
    """As JSON, one line per result."""
    rows = document["results"]
    head = {key: value for key, value in document.items() if key != "results"}
    lines = ",\n".join(json.dumps(row) for row in rows)
    return json.dumps(head, indent=1).removesuffix("\n}") + f',\n "results": [\n{lines}\n]}}\n'


def named(distance):
    return "Unix socket" if distance == "unix" else f"{distance:g} ms round trip"


def label(document, scenario):
    """S3:16@1: 16 sessions take turns on one lock, held for 1 ms."""
    count = scenario.partition(":")[2].partition("@")[0]
    hold = scenario.partition("@")[2]
    text = document["scenarios"][scenario]
    text = text.replace("sessions", "session", 1) if count == "1" else text
    return f"{int(count):,} {text}" + (f", held for {hold} ms" if hold else "") if count else \
        text[0].upper() + text[1:]


def panel(document, store, side):
    """{scenario: {distance: times}}, with its data in the first place"""
    ret = {}
    rows = [row for row in document["results"] if row["store"] == store]
    for row in rows:
        if row["side"] == side and row["data"] == rows[0]["data"] and "times" in row and \
                row["scenario"][:2] < "S6" and row["distance"] != 0.5 and "@" not in row["scenario"]:
            ret.setdefault(row["scenario"], {})[row["distance"]] = row["times"]
    return ret


class Scale:
    """Maps a ratio to a position, so that all ratios and 1 fit."""

    def __init__(self, values):
        self.low = math.floor(math.log2(min([1 / 2, *values])))
        self.high = math.ceil(math.log2(max([2, *values])))

    def x(self, value):
        wide = WIDTH - LABEL - RIGHT
        return LABEL + wide * (math.log2(value) - self.low) / (self.high - self.low)

    def ticks(self):
        step = 1 if self.high - self.low <= 8 else 2
        return [2.0 ** power for power in range(self.low, self.high + 1)
                if power % step == 0]


def short(value):
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def whole(tick):
    return f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}"


def bar(scale, y, times, colour):
    left, right = sorted((scale.x(1), scale.x(times)))
    return (f'<rect class="d{colour}" x="{left:.1f}" y="{y}" width="{max(right - left, 1):.1f}" '
            f'height="{BAR - 2}" rx="2"/>'
            f'<text class="value" x="{right + 4:.1f}" y="{y + 10}">{short(times)}</text>\n')


def draw_panel(document, heading, found, scale, colours, top):
    """(pieces, where the next one begins)"""
    out = [f'<text class="head" x="16" y="{top + 20}">{paint.escape(heading)}</text>\n']
    y = top + HEAD
    rows = []
    for scenario, bars in found.items():
        rows.append(f'<text x="16" y="{y + 11}">{paint.escape(label(document, scenario))}</text>\n')
        for distance in colours:
            if distance in bars:
                rows.append(bar(scale, y, bars[distance], colours[distance]))
                y += BAR
        y += GAP
    for tick in scale.ticks():
        kind = "one" if tick == 1 else "grid"
        out.append(f'<path class="{kind}" d="M{scale.x(tick):.1f} {top + HEAD - 4}V{y - GAP + 4}"/>')
        out.append(f'<text x="{scale.x(tick):.1f}" y="{y + 8}" text-anchor="middle">'
                   f"{whole(tick)}</text>\n")
    return out + rows, y + 18


def drawn(document):
    found = {heading: one for store, side, heading in PANELS
             if (one := panel(document, store, side))}
    values = [value for one in found.values() for bars in one.values() for value in bars.values()]
    seen = {distance for one in found.values() for bars in one.values() for distance in bars}
    colours = {"unix": 0} if "unix" in seen else {}
    colours |= {distance: min(number, 3) for number, distance in
                enumerate(sorted(seen - {"unix"}), 1)}
    scale, body, x, top = Scale(values), [], LABEL, 44
    body.append('<text class="head" x="16" y="28">Holdfast, times as fast</text>\n')
    for distance, colour in colours.items():
        body.append(f'<rect class="d{colour}" x="{x}" y="18" width="12" height="12" rx="2"/>'
                    f'<text x="{x + 18}" y="28">{named(distance)}</text>\n')
        x += 140
    for heading, one in found.items():
        pieces, top = draw_panel(document, heading, one, scale, colours, top)
        body += pieces
    return paint.document(WIDTH, top + 8, "Holdfast beside others",
                          "How many times their speed: " + "; ".join(
                              f"{heading}: {describe(document, one)}"
                              for heading, one in found.items()), STYLE, "".join(body))


def describe(document, found):
    return ", ".join(f"{label(document, scenario)} " + " and ".join(
        f"{short(times)} at {named(distance)}" for distance, times in bars.items())
        for scenario, bars in found.items())


def draw(path):
    return drawn(json.loads(pathlib.Path(path).read_text()))


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(draw(sys.argv[1]))
