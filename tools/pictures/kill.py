#!/usr/bin/env -S python3 -B
"""kill.py - record two terminals: one holds a lock, the other waits, the first is killed.

    tools/pictures/kill.py HOLDFAST kill.cast

Everything is real: two shells on pseudo terminals, the command of build/holdfast, a file of locks, and the
time that it takes; no pause is cut.  Only the names are chosen, see stage.py.

The output is lines of JSON.  The first is the header; its "true" lists texts that must be in our sources, or
the recording is out of date (tools/check-pictures).  The others are [seconds, kind, text]: "out 1" and
"out 2" are output of a terminal, "say" is a caption, "kill" the moment when Enter is pressed.
tools/pictures/film.py draws it.
"""
import json
import pathlib
import sys

import stage
import terminal

COLUMNS, ROWS = 94, (11, 7)
SHELL = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
ENV = {**stage.ENV, "TERM": "xterm", "HISTFILE": "", "PS1": r"\[\e[32m\]$\[\e[0m\] "}

DEPLOY = """#!/bin/sh
case $1 in v1) long=30 ;; *) long=0.8 ;; esac
for step in build copy restart; do
    echo "$1: $step"
    sleep $long
done
echo "$1: done"
"""

TRUE = [
    r'programs/cli/run/wait_message.c: "waiting for \"%s\": held %s by %s%s"',
    'programs/cli/run/wait_message.c: ", you are next"',
    r'programs/cli/run/wait_message.c: "waited %s for \"%s\""',
    'programs/cli/verbs/list.c: "NAME", "KIND", "HOLDER", "HELD", "WAITING", "COMMAND"',
]


def play(r):
    """The whole story."""
    r.until(1, r"^\$ $")
    r.until(2, r"^\$ $")
    r.note("say", "The first deploy has the lock, and takes long.")
    r.pause(0.8)
    r.type(1, "holdfast run deploy -- ./deploy.sh v1 >v1.log &")
    r.until(1, r"^\$ $")
    r.pause(0.8)
    r.note("say", "The second one waits, and is told who has the lock.")
    r.type(2, "holdfast run deploy -- ./deploy.sh v2")
    r.until(2, "held 3s")
    r.type(1, "holdfast list")
    r.until(1, r"NAME(.*\n)+\$ $")
    r.pause(1.8)
    r.note("say", "Now holdfast itself is killed: it has no chance to clean up.")
    r.pause(0.6)
    r.type(1, "kill -9 %1", mark="kill")
    r.until(2, "v2: build")
    r.note("say", "Within {} ms the second one runs.")
    r.pause(1.6)
    r.note("say", "Within {} ms the second one runs. Is anything left of the first?")
    r.type(1, "pgrep -f 'deploy.sh v1' || echo nothing is left of it")
    r.until(1, r"^nothing is left of it(.*\n)+\$ $")
    r.until(2, r"done(.*\n)+\$ $")
    r.note("say", "Within {} ms the second one ran, and nothing was left of the first.")
    r.pause(0.5)


def record():
    recorder = terminal.Recorder(COLUMNS, ROWS, SHELL, ENV)
    try:
        play(recorder)
    finally:
        recorder.close()
    return recorder.events


def prepare(home):
    stage.bring(home, sys.argv[1])
    stage.script(home, "deploy.sh", DEPLOY)


if __name__ == "__main__":
    if stage.is_set():
        print(json.dumps({"columns": COLUMNS, "rows": ROWS, "true": TRUE}))
        for event in record():
            print(json.dumps(event))
    else:
        pathlib.Path(sys.argv[2]).write_bytes(stage.enter(prepare))
