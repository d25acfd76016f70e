#!/usr/bin/env -S python3 -B
"""strange-text.py - names, notes and commands that look like something else: shown so
that they cannot deceive, and in their column."""
# under ASan, if there is a choice
import unicodedata
from hf import *

HIDDEN = "\u202e\u2066\u200b\u00ad\ufeff\u0085\u009b\U000e0041"
ESCAPED = r"\u202e\u2066\u200b\u00ad\ufeff\u0085\u009b\U000e0041"


def width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


def column_of(row, word):
    return width(row[:row.index(word)])


@case
def a_name_may_begin_with_a_dash(t):
    for name in ("-x", "--help", "--", "-"):
        t.equal(t.run("run", "--", name, "true").code, 0, name)
        t.equal(t.run("run", "-n", "--", name, "--", "sh", "-c", 'test "$HOLDFAST_NAME" = "$1"', "sh", name).code,
                0, name)
        holder = t.start("hold", "-s", "--", name, stdin=subprocess.PIPE)
        t.contains(holder.stderr.readline().decode(), f'holding "{name}"')
        t.equal(t.run("show", "--", name).code, 0, name)
        t.equal([lock["name"] for lock in json.loads(t.run("list", "--json", "--", name).out)], [name])
        t.equal(t.run("break", "--yes", "--", name).code, 0, name)
        t.equal(t.finish(holder).code, 79, name)
    for words in (["show", "--", "a", "--"], ["show", "--", "a", "-h"], ["list", "--", "a", "b"]):
        t.equal(t.run(*words).code, 64, words)
    done = t.run("run", "--", "a", "-n", "true")  # behind -- nothing is an option, and no command is called -n
    t.equal(done.code, 64, done.err)


@case
def hidden_characters_are_shown_escaped(t):
    name = "a" + HIDDEN.replace("\u0085", "").replace("\u009b", "")  # names have no controls
    shown = "a" + ESCAPED.replace(r"\u0085\u009b", "")
    holder = t.hold(name, "--note", HIDDEN, script=f": {HIDDEN}; sleep 1000")
    watcher = t.start("watch", name)
    seen = [watcher.stdout.readline().decode()]
    t.end(watcher)
    for done in (t.run("list"), t.run("show", name), t.run("try", name, "true"),
                 t.run("run", "-w", "0.6", name, "true"), t.run("break", name), t.run("list", "--json"),
                 t.run("show", "--json", name), t.run("show", "b" + HIDDEN)):
        seen.append(done.out + done.err)
    for text in seen:
        for character in HIDDEN:
            t.true(character not in text, f"{character!r} is in {text!r}")
    t.contains(seen[1], shown)
    t.contains(seen[2], ESCAPED)
    t.contains(seen[3], shown)
    # JSON says exactly what it is.
    t.equal(t.show(name)["holders"][0]["note"], HIDDEN)
    t.equal(t.list()[0]["name"], name)
    t.end(holder)


@case
def columns_are_as_wide_as_they_look(t):
    names = ["short", "日本語のロック", "a\u0301e\u0301\u0302", "한국어", "🔒lock", "ｆｕｌｌ"]
    holders = [t.hold(name, "--note", name) for name in [*names, "z" * 255]]
    rows = t.run("list").out.splitlines()
    t.equal(len(rows), len(names) + 2)
    long = next(row for row in rows if row.startswith("zz"))  # pushes nobody else aside
    t.contains(long, "z" * 255 + "  mutex  ")
    rows.remove(long)
    t.true(column_of(rows[0], "KIND") < 20, rows[0])
    column = column_of(rows[0], "KIND")
    for row in rows[1:]:
        t.equal(column_of(row, "mutex "), column, row)
    for holder in holders:
        t.end(holder)
    # In a line, too: of those who wait the commands differ.
    holder = t.start("run", "a", "--", "sh", "-c", ": 日本語; sleep 1000")
    t.until("it is held", lambda: t.list())
    waiter = t.start("run", "--note", "n", "a", "true")
    t.waiting("a", 1)
    rows = t.run("show", "a").out.splitlines()
    column = column_of(rows[0], "NOTE")
    t.equal(column_of(rows[2], " n"), column - 1, rows)
    t.end(holder)
    t.finish(waiter)


main()
