"""victim - those who hold a lock and are killed, and what is seen of it; see death.py."""
import contextlib
import itertools
import json
import os
import pathlib
import select
import subprocess
import threading
import time

from peer import Failed, Peer
import beside
import postgres

LIMIT = 40.0  # seconds: longer than any lease here, with a third of it and two ticks more
# A pipeline, a double fork, one in a session of its own, and one that did both.  The left one
# of the pipeline eats memory when it is told to.
TREE = """
( sleep 1000 & ) &
setsid sleep 1000 &
( setsid sleep 1000 & )
{ read -r _ && exec tail /dev/zero; } | sleep 1000
"""
STUBBORN = "trap '' TERM\n" + TREE  # ends by SIGKILL alone
MEMBERS = ["sh", "sh", "sleep", "sleep", "sleep", "sleep"]

numbers = itertools.count(1)  # of locks: each round has its own


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


class Deaths(threading.Thread):
    """Sees when processes die.  A pidfd can be read from when its process has ended; we are
    told a moment later.  `fds` can be inherited, see death/next.c."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.seen = {}  # of a process: when, in nanoseconds of the monotonic clock
        self.pids = {os.pidfd_open(pid): pid for pid in pids}
        self.fds = list(self.pids)
        self.poll = select.poll()
        for fd in self.fds:
            self.poll.register(fd, select.POLLIN)
        if self.poll.poll(0):
            raise Failed("one has died before it was killed")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.join()
        for fd in self.fds:
            os.close(fd)

    def run(self):
        end = time.monotonic() + LIMIT
        while len(self.seen) < len(self.pids) and time.monotonic() < end:
            ready = self.poll.poll(100)
            now = time.monotonic_ns()
            for fd, _ in ready:
                self.seen[self.pids[fd]] = now
                self.poll.unregister(fd)

    def last(self):
        """When the last of them was seen dead."""
        self.join()
        if len(self.seen) < len(self.pids):
            raise Failed(f"alive after {LIMIT:.0f} s: {set(self.pids.values()) - set(self.seen)}")
        return max(self.seen.values())


class Place:
    """A lock of one round: its name, and the environment to find it with."""

    def __init__(self, args, url, name=None):
        self.args, self.name = args, name or f"death-{next(numbers)}"
        self.env = os.environ | {"HOLDFAST_URL": url}

    def run(self, *command, options=(), inside=list, **more):
        """`inside`: gives the command line that runs another elsewhere."""
        argv = [self.args.holdfast, "run", "-q", *options, self.name, "--", *command]
        return Peer(inside(argv), env=self.env, **more)

    def show(self):
        done = subprocess.run([self.args.holdfast, "show", "--json", self.name], env=self.env,
                              stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def until_waited_for(self):
        beside.until("one waits", lambda: len(self.show().get("waiters", [])) == 1, LIMIT)

    @contextlib.contextmanager
    def watched(self, pids):
        """Gives Deaths of these, and the next in line, which looks for them first of all."""
        with Deaths(pids) as deaths, \
                self.run(self.args.next, *deaths.fds, pass_fds=deaths.fds) as waiter:
            self.until_waited_for()
            yield deaths, waiter


def tree_of(holder):
    """The guardian of `holdfast run`, and what its command started: all that is below it."""
    found = []

    def complete():
        found[:] = postgres.children(holder.process.pid)
        return sorted(map(str, map(name_of, found))) == sorted(["holdfast-guard", *MEMBERS])

    beside.until("the tree is up", complete, LIMIT)
    guardian = next(pid for pid in found if name_of(pid) == "holdfast-guard")
    return guardian, [pid for pid in found if pid != guardian]


def outcome(killed, deaths, waiter):
    """Of one round, in milliseconds.  Who was alive is what the next found itself."""
    _, started, alive = waiter.hear()
    return {"ms": (int(started) - killed) / 1e6, "gone_ms": (deaths.last() - killed) / 1e6,
            "alive": int(alive)}
