#!/usr/bin/env -S python3 -B
"""killed_serve - kill -9 of `holdfast serve`, of the program that it serves, and of both: nobody
else is granted a lock before both are dead, or the deadline is over.

    test/fault/killed_serve.py [FOLDER] redis|postgres|zookeeper [CASE ...]
"""
import contextlib
import datetime
import signal
import subprocess
import time

from stores import *  # noqa: F403
from servehelper import helper

LEASE = "15s"
SHORT_LEASE = "4s" if row.name == "zookeeper" else "2s"
SOON_S = 5.0  # far less than the lease, and enough for a busy machine


def use(t, lease):
    t.env["HOLDFAST_URL"] = row.url(lease=lease)


PROGRAM = """
import json, os, signal, subprocess, sys
child = subprocess.Popen([os.environ["HF"], "serve", "--stdio", "-q"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
for line in sys.argv[1:]:
    child.stdin.write(line.encode() + b"\\n")
child.stdin.flush()
print(child.pid, flush=True)
for line in child.stdout:
    print(line.decode(), end="", flush=True)
child.stdin.close()
print("end", flush=True)
signal.pause()
"""


@contextlib.contextmanager
def program(t, *requests):
    """A program and its helper, in a process group of their own, and the helper's pid."""
    t.path("program").write_text(PROGRAM)
    process = t.start("-S", str(t.path("program")), *map(json.dumps, requests), executable=sys.executable,
                      start_new_session=True, text=True)
    yield process, int(process.stdout.readline())


def hear(process, event):
    while (line := json.loads(process.stdout.readline()))["event"] != event:
        pass
    return line


def hear_end(process):
    """Returns the last line that has a deadline."""
    last = None
    while (line := process.stdout.readline()) != "end\n":
        last = json.loads(line) if "left_ms" in line else last
    return last


def acquire(number=1, name="a"):
    return {"id": number, "op": "acquire", "name": name}


def queue(t, waiting=0):
    """Start the next, and wait until it is in the queue: it prints the time."""
    process = t.start("run", "-q", "a", "--", "date", "+%s.%N")
    t.waiting("a", waiting + 1)
    return process


def began(t, waiter):
    done = t.finish(waiter)
    t.equal((done.code, done.err), (0, ""), "the next")
    return float(done.out)


def began_soon(t, waiter, since):
    later = began(t, waiter) - since
    t.true(later < SOON_S, f"the next began after {later:.1f} s")
    print(f"# the next began after {later * 1000:.0f} ms", flush=True)


@case
def while_the_program_lives_its_locks_are_kept_to_the_deadline(t):
    """This case is first, because a new Redis grants nothing for one lease, here a short one."""
    use(t, SHORT_LEASE)
    with program(t, acquire(), acquire(2, "b")) as (process, pid):
        known = hear(process, "held")
        known = hear(process, "held")
        waiter = queue(t)
        os.kill(pid, signal.SIGKILL)
        known = hear_end(process) or known
        deadline = datetime.datetime.fromisoformat(known["deadline"].replace("Z", "+00:00")).timestamp()
        t.true(began(t, waiter) >= deadline, "before the deadline")
        process.kill()


@case
def when_the_program_dies_after_its_helper_the_next_begins(t):
    use(t, LEASE)
    with program(t, acquire()) as (process, pid):
        hear(process, "held")
        os.kill(pid, signal.SIGKILL)
        hear_end(process)
        t.equal(t.run("run", "-w", "0.5", "a", "--", "true").code, 75, "it is kept")
        waiter = queue(t)
        ended = time.time()
        process.kill()
        began_soon(t, waiter, ended)


@case
def when_the_program_is_killed_the_next_begins(t):
    use(t, LEASE)
    with program(t, acquire()) as (process, _):
        hear(process, "held")
        waiter = queue(t)
        ended = time.time()
        process.kill()
        began_soon(t, waiter, ended)


@case
def when_both_are_killed_the_next_begins(t):
    use(t, LEASE)
    with program(t, acquire()) as (process, _):
        hear(process, "held")
        waiter = queue(t)
        ended = time.time()
        os.killpg(process.pid, signal.SIGKILL)
        began_soon(t, waiter, ended)


@case
def a_killed_helper_that_holds_nothing_blocks_nobody(t):
    """Also if it held something before; the program lives."""
    use(t, LEASE)
    holder = t.hold("a")
    with program(t, acquire(1, "b"), {"id": 2, "op": "release", "lock": 1}, acquire(3)) as (process, pid):
        hear(process, "released")
        t.waiting("a", 1)
        waiter = queue(t, 1)
        os.kill(pid, signal.SIGKILL)
        hear_end(process)
        t.until("only the next waits", lambda: len(t.show("a")["waiters"]) == 1)
        ended = time.time()
        t.end(holder)
        began_soon(t, waiter, ended)
        process.kill()


@case
def a_killed_helper_keeps_no_pipe_open(t):
    """Its guardian has no copy of stdout.  The program is this one, and lives: so the lease counts."""
    use(t, SHORT_LEASE)
    with helper(t) as h:
        t.lacks(h.hello["url"], SECRET)
        h.hold("a")
        h.process.kill()
        t.equal([line for line in h.all() if line["event"] != "renewed"], [], "lines")
        h.process.wait(hf.LIMIT)
        h.process.stdin.close()
        t.equal(t.run("run", "-q", "-w", "60", "a", "--", "true").code, 0, "the next")


@case
def questions_while_the_server_is_away(t):
    """They fail within seconds, and nothing is lost when the server comes back in time."""
    use(t, LEASE)
    with helper(t, stderr=subprocess.DEVNULL) as h:
        lock = h.hold("a")
        row.freeze()
        try:
            begin = time.monotonic()
            answers = [h.send(op, **more) for op, more in
                       (("check", {"lock": lock}), ("list", {}), ("ask", {"name": "a"}))]
            for number in answers:
                line = h.next(id=number)
                t.true(line["event"] == "failed" and line["error"] in ("HF_EDOWN", "HF_ETIMEOUT"), str(line))
            t.true(time.monotonic() - begin < 14, "they fail before the lease is over")
        finally:
            row.thaw()
        t.until("the store answers", lambda: h.call("check", lock=lock)["event"] == "done")
        t.equal(h.call("release", lock=lock)["error"], None)


play()
