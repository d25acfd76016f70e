"""victim - a holder that is killed, and how we observe its death; see death.py."""
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
import server_process
import postgres

LIMIT = 40.0  # seconds: longer than any lease here, with a third of it and two ticks more
# A pipeline, a double fork, a process in its own session, and one that did both.  The left side of the
# pipeline uses up memory on request.
TREE = """
( sleep 1000 & ) &
setsid sleep 1000 &
( setsid sleep 1000 & )
{ read -r _ && exec tail /dev/zero; } | sleep 1000
"""
STUBBORN = "trap '' TERM\n" + TREE  # only SIGKILL ends it
MEMBERS = ["sh", "sh", "sleep", "sleep", "sleep", "sleep"]

numbers = itertools.count(1)  # each round has its own lock


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


class Deaths(threading.Thread):
    """Notices when processes die.  A pidfd becomes readable when its process has ended; we wake a moment
    later.  `fds` can be inherited, see death/next.c."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.seen = {}  # process: time of death, in nanoseconds of the monotonic clock
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
        """`inside`: wraps a command line, to run it elsewhere."""
        argv = [self.args.holdfast, "run", "-q", *options, self.name, "--", *command]
        return Peer(inside(argv), env=self.env, **more)

    def show(self):
        done = subprocess.run([self.args.holdfast, "show", "--json", self.name], env=self.env,
                              stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def until_waited_for(self):
        server_process.until("one waits", lambda: len(self.show().get("waiters", [])) == 1, LIMIT)

    @contextlib.contextmanager
    def watched(self, pids):
        """Returns Deaths of these, and the next waiter, whose command checks them first."""
        with Deaths(pids) as deaths, \
                self.run(self.args.next, *deaths.fds, pass_fds=deaths.fds) as waiter:
            self.until_waited_for()
            yield deaths, waiter


def tree_of(holder):
    """The guardian of `holdfast run` and all its descendants."""
    found = []

    def complete():
        found[:] = postgres.children(holder.process.pid)
        return sorted(map(str, map(name_of, found))) == sorted(["hf-guardian", *MEMBERS])

    server_process.until("the tree is up", complete, LIMIT)
    guardian = next(pid for pid in found if name_of(pid) == "hf-guardian")
    return guardian, [pid for pid in found if pid != guardian]


def outcome(killed, deaths, waiter):
    """The result of one round, in milliseconds; `alive` is what the next command found."""
    _, started, alive = waiter.hear()
    return {"ms": (int(started) - killed) / 1e6, "gone_ms": (deaths.last() - killed) / 1e6,
            "alive": int(alive)}
