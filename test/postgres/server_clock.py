#!/usr/bin/env -S python3 -B
"""server_clock - the PostgreSQL store on a server whose clock is stepped.

    test/postgres/server_clock.py [FOLDER] [CASE ...]

FOLDER: where holdfast is built, if not in build.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

from calls import *  # noqa: F403
import sandbox
import fake_clock

HOUR, DAY = 3600, 86400
clocks = []
FOLDER = next((arg for arg in sys.argv[1:] if os.path.isdir(arg)), os.environ.get("BUILD", "build"))
HOLDFAST = os.environ.get("HOLDFAST", pathlib.Path(FOLDER) / "holdfast")


@contextlib.contextmanager
def start():
    folder, lock = sandbox.make_folder()
    try:
        clocks.append(fake_clock.Clock(folder))
        with postgres.standalone(env=clocks[0].env) as made:
            yield made
    finally:
        shutil.rmtree(folder)
        os.close(lock)


def step(seconds):
    clocks[0].step(seconds)


def server_time(there):
    return there.link.call("SELECT holdfast.microseconds()")[0][0]


@case
def the_fake_clock_works():
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
        a.bye()  # the line is deleted with it
        assert there.counts()["line"] == 0
        a = there.session()
    assert tokens == sorted(set(tokens)), tokens
    assert tokens[-1] - tokens[-3] == 2, "while the clock is behind, each token is one higher"
    step(0)


@case
def stamps_change_whatever_the_clock_does():
    there = space()
    a, b = sessions(there)
    step(DAY)
    a.enter(1, "m")
    stamp, _ = a.list("m")
    a.bye(), b.bye()
    step(0)
    a, b = sessions(there)
    assert b.watch("m", stamp) == (0, True)
    assert a.enter(1, "m").state == "g" and a.list("m")[0] != stamp


def has_store():
    done = subprocess.run([HOLDFAST, "version"], stdout=subprocess.PIPE, text=True)
    return "postgres" in done.stdout.split()


@case
def no_lease_ends_by_the_servers_clock():
    if not has_store():
        print("# no PostgreSQL store in this build")
        return
    there = space()
    url = server().url_of(there.database) + "?ttl=1s"

    def run(*args):
        return subprocess.Popen([HOLDFAST, *args], stdout=subprocess.PIPE, text=True,
                                env=os.environ | {"HOLDFAST_URL": url})

    def rows(state):
        return there.link.call("SELECT count(*) FROM holdfast.every_place WHERE state = $1", state)[0][0]

    def until(true):
        end = time.monotonic() + 20
        while not true():
            assert time.monotonic() < end, "timeout"
            time.sleep(0.01)

    holder = run("run", "-q", "-w", "9", "a", "--", "sleep", "60")
    until(lambda: rows("g") == 1)
    waiter = run("run", "-q", "-w", "60", "a", "--", "echo", "mine")
    until(lambda: rows("w") == 1)
    for seconds in (HOUR, -HOUR, 30 * DAY, 0):
        step(seconds)
        time.sleep(0.7)  # for renewals and expire calls
        tried = run("try", "-q", "a", "--", "true")
        assert tried.wait(20) == 75, f"it was free, {seconds} s ahead"
        assert (holder.poll(), waiter.poll()) == (None, None)
    step(-DAY)
    holder.kill()  # its guardian ends the command and frees the lock
    assert waiter.communicate(timeout=30)[0] == "mine\n"
    holder.wait()
    holder.stdout.close()
    step(0)


main(start=start)
