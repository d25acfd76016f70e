#!/usr/bin/env -S python3 -B
"""invalid-places.py - rows of the file store that make no sense; others see test/redis, test/zookeeper and
test/postgres."""
# under ASan, if there is a choice
import contextlib
import fcntl
import random
import sqlite3
import struct

from hf import *
from nonsense import can_be_broken, is_in_the_way, shown

F_OFD_SETLK = 37
ALL = 2**32 - 1


@contextlib.contextmanager
def row(t, name, seq, weight, capacity, claim=0, alive=True):
    """A place that somebody who lives has, or had."""
    path = str(t.path("locks.db"))
    t.equal(t.run("run", name, "--", "true").code, 0)
    base = sqlite3.connect(path, timeout=10)
    base.execute("INSERT OR REPLACE INTO place VALUES (?, ?, 77, ?, ?, ?, 1, 1, -1, 'user=a host=b pid=1', 0, 0, 0)",
                 (name, seq, weight, capacity, claim))
    base.commit()
    with open(path + "-live", "r+b") as file:
        if alive:
            fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, seq, 1, 0))
        yield base
    base.execute("DELETE FROM place")
    base.commit()
    base.close()


NONSENSE = [(0, 1, 0), (2, 1, 0), (0, 0, 0), (-1, 1, 0), (1, -1, 0), (1, 0, 0), (2**32, 2**32, 0),
            (2**62, 2**62, 0), (7, ALL, 0), (3, 5, 1), (-2**63, 2**63 - 1, 0)]


@case
def an_invalid_place_blocks_until_it_is_broken(t):
    for i, (weight, capacity, claim) in enumerate(NONSENSE):
        run = random.choice([[], ["-s"], ["-x"], ["--slots", "3"], ["--claim"]])
        with row(t, "a", 100 + i, weight, capacity, claim):
            token = is_in_the_way(t, "a", *run)
            t.equal(token, str(100 + i))
            t.equal(t.run("check", "a", "--token", token).code != 0, True, "exit code of check")
            can_be_broken(t, "a", token)
            t.equal(t.run("run", "-n", *run, "a", "--", "true").code, 0)


@case
def an_invalid_place_of_a_dead_client_is_swept(t):
    shapes = [(0, 1), (2, 1), (1, 1), (1, ALL)]
    for seq, (weight, capacity) in [(5, shape) for shape in shapes] + [
            (seq, random.choice(shapes)) for seq in (0, -5, 2**63 - 1, -2**63)]:
        with row(t, "a", seq, weight, capacity, alive=False):
            t.equal(shown(t, "a"), [])
            t.equal(t.run("doctor", "a").code, 0)
            run = random.choice([[], ["-s"]])
            t.equal(t.run("run", "-n", *run, "a", "--", "true").code, 0, (seq, weight, capacity))


@case
def an_invalid_place_behind_the_holder_does_not_disturb_it(t):
    holder = t.hold("a")
    with row(t, "b", 2**61, 0, 1) as base:
        base.execute("UPDATE place SET line = 'a' WHERE line = 'b'")
        base.commit()
        t.equal([(kind, held) for kind, held, _ in shown(t, "a")], [("mutex", True), ("unknown", False)])
        t.equal(t.end(holder).code, 143)
        t.equal([(kind, held) for kind, held, _ in shown(t, "a")], [("unknown", True)])
        can_be_broken(t, "a", str(2**61))


main()
