#!/usr/bin/env -S python3 -B
"""layouts.py - two versions of Holdfast with different layouts meet on one file.

The later one is next/holdfast beside the command: cmake/Next.cmake.
"""
import re

from hf import *


def token(t, **more):
    done = t.run("run", "x", "--", "sh", "-c", "echo $HOLDFAST_TOKEN", **more)
    t.equal((done.code, done.err), (0, ""), "a run on a free lock")
    return int(done.out)


def remove_store(t):
    for path in t.folder.glob("locks.db*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def refused(t, done, text):
    t.equal(done.code, 64, "exit code of a refused client")
    t.equal(done.out, "", "what a refused client said")
    t.one_line(done.err)
    t.true(re.search(text, done.err), f"{text!r} is not in {done.err!r}")


OLDER = r"locks.db-live is in use by an older Holdfast \(layout (\d+), this one has \d+\); " \
        r"end the processes that `fuser -v` lists for that file"
NEWER = r"locks.db was made by a newer Holdfast \(layout (\d+), this one has \d+\); use that one"


@case
def a_newer_client_is_refused_while_an_older_one_holds(t):
    holder = t.hold("x")
    waiter = t.start("run", "x", "--", "true")
    t.waiting("x", 1)
    for args in ["run", "-n", "x", "--", "echo", "in"], ["run", "y", "--", "echo", "in"], \
            ["list"], ["show", "x"], ["break", "x"], ["doctor"]:
        refused(t, t.run(*args, executable=NEXT), OLDER)
    t.equal(t.end(holder).code, 143, "exit code of the holder")
    t.equal(t.finish(waiter).code, 0, "exit code of the waiter")


@case
def once_nobody_is_left_the_newer_layout_takes_over(t):
    first = token(t)
    second = token(t, executable=NEXT)
    t.true(second > first, f"token {second} after {first}")
    refused(t, t.run("run", "x", "--", "echo", "in"), NEWER)
    refused(t, t.run("list"), NEWER)
    t.true(token(t, executable=NEXT) > second, "tokens rise")
    remove_store(t)


@case
def places_of_a_killed_client_do_not_block_the_new_layout(t):
    holder = t.hold("x")
    waiter = t.start("run", "x", "--", "true")
    t.waiting("x", 1)
    first = int(t.show("x")["waiters"][0]["token"])
    for pid in t.processes():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    t.finish(holder), t.finish(waiter)
    t.until("all are dead", lambda: not t.processes())
    t.true(token(t, executable=NEXT) > first, "tokens rise")
    remove_store(t)


@case
def an_older_client_that_had_the_store_open_is_refused(t):
    token(t)
    watcher = t.start("watch", "x")
    files = f"/proc/{watcher.pid}/fd"
    t.until("it watches", lambda: any("inotify" in os.readlink(f"{files}/{fd}") for fd in os.listdir(files)))
    token(t, executable=NEXT)
    done = t.finish(watcher)
    refused(t, done, NEWER)
    remove_store(t)


@case
def an_older_client_that_locks_again_and_again_is_refused(t):
    token(t)
    busy = t.start("bench", "--time", "60s")
    t.until("it locks", lambda: t.list() != [])

    def get_in():
        done = t.run("run", "y", "--", "true", executable=NEXT)
        t.true(done.code == 0 or re.search(OLDER, done.err), done.err)
        return done.code == 0

    t.until("the newer one gets in", get_in)
    done = t.finish(busy)
    t.true(done.code != 0 and re.search(NEWER, done.err), f"{done.code}: {done.err}")
    remove_store(t)


@case
def both_versions_never_hold_the_lock_together(t):
    """Older and newer ones try together: the newer ones are in from some moment on, alone."""
    script = 'mkdir "$D/in" || echo overlap >>"$D/log"; echo $WHO $HOLDFAST_TOKEN >>"$D/log"; rmdir "$D/in"'
    for _ in range(10):
        t.path("log").write_text("")
        token(t)
        clients = [t.start("run", "x", "--", "sh", "-c", f"WHO={who}; {script}", executable=binary)
                   for _ in range(4) for who, binary in (("old", HOLDFAST), ("new", NEXT))]
        for number, client in enumerate(clients):
            done = t.finish(client)
            t.true(done.code == 0 or re.search(OLDER if number % 2 else NEWER, done.err),
                   f"{done.code}: {done.err}")
        log = [line.split() for line in t.path("log").read_text().splitlines()]
        t.lacks(str(log), "overlap")
        t.equal(log, sorted(log, key=lambda entry: int(entry[1])), "tokens in order")
        who = [entry[0] for entry in log]
        t.equal(who, sorted(who, reverse=True), "none of the older after one of the newer")
        remove_store(t)


main()
