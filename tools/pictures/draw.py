#!/usr/bin/env -S python3 -B
"""draw.py - draw a picture of boxes and arrows from its description.

    tools/pictures/draw.py stores.txt stores.svg

A description has one element per line; indented lines belong to the line above.  All positions and sizes
are in tens of pixels.

    size 82 40
    title What it is                     for screen readers, with the indented text
    box ID X Y W H [COLOUR]              a box, and its text: the first line is bold
    frame ID X Y W H Text                a dashed frame round boxes; arrows can lead to it
    arrow ID ID [COLOUR] [at N] [Text]   from box to box, straight, N from the left or top of
                                         their common side, or else down and round a corner;
                                         "watch" is a dashed line with two heads
    text X Y [COLOUR] Text               a line of text
    rows X Y W1 W2                       a table of two columns, with indented "left | right"
    true FILE: text                      not drawn: tools/check-pictures wants this text in FILE
    # a comment

`Words` in backquotes are drawn as code.  A line that does not fit is an error.
"""
import pathlib
import re
import sys

import paint

UNIT = 10
LINE = 18
SIZE, SMALL = 14, 13
COLOURS = ("blue", "green", "red")

STYLE = f"""text{{font:{SMALL}px {paint.SANS};fill:var(--dim)}}
.head{{font-size:{SIZE}px;font-weight:600;fill:var(--text)}}
.code{{font:12.5px {paint.MONO};fill:var(--text)}}.head .code{{font-weight:600}}
.box{{fill:var(--card);stroke:var(--edge);stroke-width:1.3}}
.box.blue{{fill:var(--blueish);stroke:var(--blue)}}
.box.green{{fill:var(--greenish);stroke:var(--green)}}
.box.red{{fill:var(--reddish);stroke:var(--red)}}
.frame,.row{{fill:none;stroke:var(--edge)}}.frame{{stroke-dasharray:5 4;stroke-width:1.5}}
.line{{fill:none;stroke:var(--dim);stroke-width:1.6}}.tip{{fill:var(--dim)}}
.watch{{stroke-dasharray:4 3}}
.line.blue{{stroke:var(--blue)}}.line.green{{stroke:var(--green)}}.line.red{{stroke:var(--red)}}
.tip.blue,text.blue{{fill:var(--blue)}}.tip.green,text.green{{fill:var(--green)}}
.tip.red,text.red{{fill:var(--red)}}
"""


class Wrong(Exception):
    pass


def width_of(text, size):
    """An estimate on the safe side, because fonts differ."""
    plain = text.replace("`", "")
    narrow = sum(plain.count(letter) for letter in "ijlt.,:;'|!f()r ")
    code = sum(len(part) for part in re.findall(r"`([^`]*)`", text))
    return (len(plain) - narrow - code) * size * 0.6 + narrow * size * 0.38 + code * 7.6


def spans(text):
    """Text with `code` in it, as SVG."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        raise Wrong(f"a ` is missing in {text!r}")
    return "".join(f'<tspan class="code">{paint.escape(part)}</tspan>' if i % 2 else
                   paint.escape(part) for i, part in enumerate(parts) if part)


def write(x, y, text, kind="", anchor="", room=None):
    size = SIZE if kind == "head" else SMALL
    if room is not None and width_of(text, size) > room:
        raise Wrong(f"{text!r} needs {width_of(text, size):.0f} pixels, and has {room:.0f}")
    kind = f' class="{kind}"' if kind else ""
    anchor = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{kind} x="{x:g}" y="{y:g}"{anchor}>{spans(text)}</text>\n'


class Drawing:
    def __init__(self):
        self.size, self.title, self.about = None, "", []
        self.boxes, self.below, self.above = {}, [], []

    # ---- Elements

    def do_size(self, words, _):
        self.size = [float(word) * UNIT for word in words.split()]

    def do_title(self, words, lines):
        self.title, self.about = words, lines

    def do_box(self, words, lines):
        name, *place = words.split()
        colour = place.pop() if place[-1] in COLOURS else ""
        x, y, w, h = (float(word) * UNIT for word in place)
        self.boxes[name] = x, y, w, h
        self.above.append(f'<rect class="{classes("box", colour)}" x="{x:g}" y="{y:g}" width="{w:g}" '
                          f'height="{h:g}" rx="7"/>\n')
        top = y + h / 2 - (len(lines) - 1) * LINE / 2 + SIZE * 0.36
        if len(lines) * LINE > h:
            raise Wrong(f"box {name}: {len(lines)} lines do not fit")
        for i, text in enumerate(lines):
            self.above.append(write(x + w / 2, top + i * LINE, text, "" if i else "head", "middle",
                                    w - 12))

    def do_frame(self, words, _):
        name, *place, text = words.split(maxsplit=5)
        x, y, w, h = (float(word) * UNIT for word in place)
        self.boxes[name] = x, y, w, h
        self.below.append(f'<rect class="frame" x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" '
                          'rx="9"/>\n' + write(x + 10, y + h - 8, text, room=w - 14))

    def do_arrow(self, words, _, dash=""):
        first, second, *rest = words.split()
        at, colour = None, rest.pop(0) if rest and rest[0] in COLOURS else ""
        if rest[:1] == ["at"]:
            at, rest = float(rest[1]) * UNIT, rest[2:]
        ends = [self.box(first), self.box(second)]
        (self.connect if straight(*ends) else self.turn)(*ends, at, dash, colour, " ".join(rest))

    def do_watch(self, words, lines):
        self.do_arrow(words, lines, "watch")

    def do_text(self, words, _):
        x, y, text = words.split(maxsplit=2)
        colour, _, rest = text.partition(" ")
        kind, text = (colour, rest) if colour in (*COLOURS, "head") else ("", text)
        self.above.append(write(float(x) * UNIT, float(y) * UNIT, text, kind,
                                room=self.size[0] - float(x) * UNIT - 10))

    def do_rows(self, words, lines):
        x, y, left, right = (float(word) * UNIT for word in words.split())
        for number, line in enumerate(lines):
            if number:
                self.below.append(f'<path class="row" d="M{x:g} {y:g}h{left + right:g}"/>\n')
            cells = [cell.strip() for cell in line.split("|")]
            self.above.append(write(x + 6, y + 18, cells[0], "head", room=left - 8))
            self.above.append(write(x + left, y + 18, cells[1], room=right - 4))
            y += 27

    def do_true(self, _words, _lines):
        pass

    # ---- Arrows

    def box(self, name):
        if name not in self.boxes:
            raise Wrong(f"there is no box {name}")
        return self.boxes[name]

    def connect(self, one, two, at, dash, colour, text):
        """Straight across the gap."""
        along, side, room = straight(one, two)
        across = side + (room / 2 if at is None else at)
        step = 1 if one[along] < two[along] else -1
        start = one[along] + (one[along + 2] if step > 0 else 0)
        end = two[along] + (0 if step > 0 else two[along + 2])
        first = start + 9 * step if dash else start
        self.below.append(line(along, first, end - 9 * step, across, dash, colour))
        self.below.append(tip(along, end, across, step, colour))
        if dash:
            self.below.append(tip(along, start, across, -step, colour))
        self.label(along, (start + end) / 2, abs(end - start), across, text, colour)

    def turn(self, one, two, _at, dash, colour, text):
        """Down from the first, then to the right into the second."""
        x, y = one[0] + one[2] / 2, one[1] + one[3]
        down = two[1] + two[3] / 2
        self.below.append(f'<path class="{classes("line", dash, colour)}" '
                          f'd="M{x:g} {y:g}V{down - 8:g}q0 8 8 8H{two[0] - 9:g}"/>\n')
        self.below.append(tip(0, two[0], down, 1, colour))
        self.label(1, (y + down) / 2, down - y, x, text, colour)

    def label(self, along, middle, length, across, text, colour):
        lines = [part.strip() for part in text.split("|")] if text else []
        for i, part in enumerate(lines):
            if along == 0:
                y = across - 7 - (len(lines) - 1 - i) * 15
                self.above.append(write(middle, y, part, colour, "middle", room=length))
            else:
                y = middle + 4 + (i - (len(lines) - 1) / 2) * 16
                self.above.append(write(across + 9, y, part, colour))

    def document(self):
        width, height = (int(number) for number in self.size)
        return paint.document(width, height, self.title, " ".join(self.about).replace("`", ""),
                              paint.PAGE + STYLE, "".join(self.below + self.above))


def straight(one, two):
    """(0: horizontal, 1: vertical; start and length of their common side)"""
    for along in (0, 1):
        begin = max(one[1 - along], two[1 - along])
        room = min(box[1 - along] + box[3 - along] for box in (one, two)) - begin
        if room > 0:
            return along, begin, room
    return None


def classes(*words):
    return " ".join(word for word in words if word)


def line(along, start, end, across, dash, colour):
    path = f"M{start:g} {across:g}H{end:g}" if along == 0 else f"M{across:g} {start:g}V{end:g}"
    return f'<path class="{classes("line", dash, colour)}" d="{path}"/>\n'


def tip(along, at, across, step, colour):
    if along == 0:
        path = f"M{at:g} {across:g}l{-10 * step} -4.5v9z"
    else:
        path = f"M{across:g} {at:g}l-4.5 {-10 * step}h9z"
    return f'<path class="{classes("tip", colour)}" d="{path}"/>\n'


def read(text):
    """[(number, word, rest, indented lines)]"""
    things = []
    for number, text in enumerate(text.splitlines(), 1):
        if not text.strip() or text.startswith("#"):
            continue
        if text.startswith(" "):
            things[-1][3].append(text.strip())
        else:
            word, _, rest = text.partition(" ")
            things.append((number, word, rest.strip(), []))
    return things


def draw(path):
    drawing = Drawing()
    for number, word, rest, lines in read(path.read_text()):
        action = getattr(drawing, f"do_{word}", None)
        if action is None:
            raise Wrong(f"{path.name}:{number}: there is no {word}")
        try:
            action(rest, lines)
        except (Wrong, ValueError, IndexError) as error:
            raise Wrong(f"{path.name}:{number}: {error}") from error
    return drawing.document()


if __name__ == "__main__":
    try:
        pathlib.Path(sys.argv[2]).write_text(draw(pathlib.Path(sys.argv[1])))
    except Wrong as error:
        sys.exit(f"draw.py: {error}")
