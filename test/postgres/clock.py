#!/usr/bin/env -S python3 -B
"""clock - the PostgreSQL store on a server whose clock is stepped.

    test/postgres/clock.py [FOLDER] [CASE ...]
"""
import contextlib
import tempfile

from cases import *  # noqa: F403
import stepped

HOUR, DAY = 3600, 86400
clocks = []


@contextlib.contextmanager
def start():
    with tempfile.TemporaryDirectory() as folder:
        clocks.append(stepped.Clock(folder))
        with postgres.standalone(env=clocks[0].env) as made:
            yield made


def step(seconds):
    clocks[0].step(seconds)


def server_time(there):
    return there.link.call("SELECT holdfast.microseconds()")[0][0]


@case
def the_servers_clock_can_be_stepped():
    there = space()
    step(0)
    now = server_time(there)
    step(-HOUR)
    assert -HOUR * 10**6 <= server_time(there) - now < -HOUR * 10**6 + 10**7
    step(0)


@case
def tokens_rise_whatever_the_clock_does():
    there = space()
    a = there.session()
    tokens = []
    for i, seconds in enumerate((0, DAY, -HOUR, 0, -10 * DAY, 2 * DAY, -400 * DAY)):
        step(seconds)
        for id in (2 * i + 1, 2 * i + 2):
            tokens.append(a.enter(id, "m").seq)
            a.leave(id, "m")
        a.bye()  # and the line is forgotten
        assert there.counts()["line"] == 0
        a = there.session()
    assert tokens == sorted(set(tokens)), tokens
    assert tokens[-1] - tokens[-3] == 2, "behind the highest, they are counted"
    step(0)


@case
def stamps_change_whatever_the_clock_does():
    there = space()
    a, b = sessions(there)
    step(DAY)
    stamp = a.enter(1, "m").stamp
    a.bye(), b.bye()
    step(0)
    a, b = sessions(there)
    assert b.watch("m", stamp) == (0, True)
    assert a.enter(1, "m").stamp != stamp


main(start=start)
