#!/usr/bin/env -S python3 -B
"""film.py - draw a recording of terminals as an animated SVG.

    tools/pictures/film.py kill.cast kill.svg

A row of a screen is divided into takes: a take is a text until it is replaced by another one that does not
continue it.  Typed text is uncovered letter by letter, by a cover that moves to the right.  So there are
some dozens of animations and not a thousand.  They are pure CSS.  Without CSS animations, or for people who
prefer reduced motion, the picture shows the last frame.
"""
import dataclasses
import itertools
import json
import math
import pathlib
import sys

import paint
import terminal

FONT, CELL, LINE = 13.5, 8.15, 19  # of a character: size, width, height
EDGE, INSET, BAR = 10, 14, 27  # round everything; inside of a window; its title
CAPTION = 36
END = 4.0  # seconds of the last frame
TITLE = "ana@web1"
KNOB = 4.5

STYLE = f"""text{{font:{FONT}px {paint.MONO};fill:var(--text);white-space:pre}}
.say{{font:600 15px {paint.SANS};fill:var(--blue)}}
.title{{font:12px {paint.SANS};fill:var(--dim)}}
.window,.cover{{fill:var(--card)}}.window{{stroke:var(--edge)}}
.bar{{stroke:var(--edge)}}.knob{{fill:var(--edge)}}
.green{{fill:var(--green)}}.red{{fill:var(--red)}}.blue{{fill:var(--blue)}}
.cursor{{fill:var(--text);opacity:.55}}
.over{{visibility:hidden}}.cover{{display:none}}
"""


@dataclasses.dataclass
class Take:
    """A text in one row: its start and end, and how much of it is visible at which time."""
    row: int
    begin: float
    cells: list
    seen: list  # [(seconds, characters)]
    end: float = None  # None: to the last


def read(path):
    """(head, events)"""
    head, *events = (json.loads(line) for line in path.read_text().splitlines())
    return head, events


def is_continued(old, new):
    return len(new) >= len(old) and new[:len(old)] == old


class Window:
    """One terminal: its takes, and the positions of the cursor."""

    def __init__(self, columns, rows, events):
        self.columns, self.rows = columns, rows
        self.takes, self.cursor = [], []
        self.at = [None] * rows  # the take in each row
        screen = terminal.Screen(columns, rows)
        for seconds, text in events:
            screen.write(text)
            for row, cells in enumerate(screen.rows):
                self.look(seconds, row, list(cells))
            self.cursor.append((seconds, (screen.x, screen.y)))

    def look(self, seconds, row, cells):
        take = self.at[row]
        if take is not None and take.cells == cells:
            return
        if take is not None and is_continued(take.cells, cells):
            take.cells = cells
            take.seen.append((seconds, len(cells)))
            return
        if take is not None:
            take.end = seconds
        self.at[row] = Take(row, seconds, cells, [(seconds, len(cells))]) if cells else None
        if cells:
            self.takes.append(self.at[row])


class Film:
    """Collects pieces of SVG, and the CSS that animates them."""

    def __init__(self, seconds):
        self.seconds, self.rules, self.count = seconds, [], 0

    def percent(self, seconds):
        return f"{100 * seconds / self.seconds:.2f}".rstrip("0").rstrip(".") + "%"

    def move(self, stops):
        """A class for an element that changes at these times: [(seconds, CSS)]."""
        self.count += 1
        name = f"a{self.count}"
        frames = "".join(f"{self.percent(seconds)}{{{css}}}" for seconds, css in stops)
        self.rules.append(f"@keyframes {name}{{{frames}}}\n"
                          f".{name}{{animation:{name} {self.seconds:g}s step-end infinite}}")
        return name

    def show(self, begin, end):
        """Classes for an element that is visible from one time to another."""
        stops = [(0, "visibility:hidden")] if begin > 0 else []
        stops.append((begin, "visibility:visible"))
        if end is not None:
            stops.append((end, "visibility:hidden"))
        return self.move(stops) + (" over" if end is not None else "")

    def css(self):
        return ("@media (prefers-reduced-motion:no-preference){\n.cover{display:inline}\n"
                + "\n".join(self.rules) + "\n}\n")


def shift(cells, lines=None):
    return f"transform:translate({cells * CELL:g}px,{(lines or 0) * LINE:g}px)"


def line_of(cells):
    """Its words with their colours."""
    for colour, group in itertools.groupby(cells, key=lambda cell: cell[1]):
        text = paint.escape("".join(cell[0] for cell in group))
        yield f'<tspan class="{colour}">{text}</tspan>' if colour else text


def draw_take(film, take):
    cells = take.cells
    while cells and cells[-1][0] == " ":
        cells = cells[:-1]
    y = take.row * LINE
    text = (f'<text y="{y + 0.72 * LINE:g}" textLength="{len(cells) * CELL:g}">'
            f'{"".join(line_of(cells))}</text>')
    if len(take.seen) > 1:  # typed
        stops = [(0, shift(take.seen[0][1]))] + [(when, shift(count)) for when, count in take.seen[1:]]
        text += (f'<rect class="cover {film.move(stops)}" y="{y}" height="{LINE}" '
                 f'width="{len(take.cells) * CELL:g}"/>')
    return f'<g class="{film.show(take.begin, take.end)}">{text}</g>\n'


def draw_window(film, window, top):
    """(svg, height)"""
    width = window.columns * CELL
    height = BAR + window.rows * LINE + INSET
    x, whole = EDGE, width + 2 * INSET
    out = [f'<rect class="window" x="{x}" y="{top}" width="{whole:g}" height="{height}" rx="7"/>\n'
           f'<path class="bar" d="M{x} {top + BAR - 7}h{whole:g}"/>\n']
    for i in range(3):
        out.append(f'<circle class="knob" cx="{x + 15 + 15 * i}" cy="{top + 10}" r="{KNOB}"/>')
    out.append(f'\n<text class="title" x="{x + whole / 2:g}" y="{top + 14.5}" '
               f'text-anchor="middle">{TITLE}</text>\n')
    out.append(f'<svg x="{x + INSET}" y="{top + BAR}" width="{width:g}" '
               f'height="{window.rows * LINE}">\n')
    out += [draw_take(film, take) for take in window.takes]
    last = window.cursor[-1][1]
    stops = [(0, shift(0))] + [(when, shift(*where)) for when, where in window.cursor]
    out.append(f'<rect class="cursor {film.move(stops)}" style="{shift(*last)}" '
               f'y="1" width="{CELL}" height="{LINE - 2}"/>\n</svg>\n')
    return "".join(out), height


def captions(events):
    """[(seconds, text)]; "{}" is the time from the kill until the other terminal continued."""
    killed = next(when for when, kind, _ in events if kind == "kill")
    moved = next(when for when, kind, text in events
                 if kind == "out 2" and when > killed and "v2:" in text)
    took = math.ceil((moved - killed) * 1000)
    return [(when, text.format(took)) for when, kind, text in events if kind == "say"]


def draw(path):
    head, events = read(path)
    film = Film(math.ceil(events[-1][0] + END))
    windows = [Window(head["columns"], rows, [(when, text) for when, kind, text in events
                                              if kind == f"out {i + 1}"])
               for i, rows in enumerate(head["rows"])]
    says = captions(events)
    body, top = [], EDGE + CAPTION - 8
    for (when, text), after in itertools.zip_longest(says, says[1:]):
        shown = film.show(when if when > says[0][0] else 0, after and after[0])
        body.append(f'<text class="say {shown}" x="{EDGE + 4}" y="{EDGE + 15}">'
                    f"{paint.escape(text)}</text>\n")
    for window in windows:
        svg, height = draw_window(film, window, top)
        body.append(svg)
        top += height + EDGE
    width = math.ceil(2 * EDGE + 2 * INSET + head["columns"] * CELL)
    return paint.document(width, top, "Two terminals: a lock is passed on when its holder is killed",
                          " ".join(dict.fromkeys(text for _, text in says)),
                          paint.PAGE + STYLE + film.css(), "".join(body))


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(draw(pathlib.Path(sys.argv[1])))
