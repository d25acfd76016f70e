#!/usr/bin/env -S python3 -B
"""killed_hold - kill -9 of `holdfast hold`: its parent, the program that started it, may still
work.  So nobody else is granted the lock before the parent is dead, too, or the deadline is over.

    test/fault/killed_hold.py [FOLDER] redis|postgres|zookeeper [CASE ...]
"""
import contextlib
import datetime
import pathlib
import pty
import resource
import signal
import time

from stores import *  # noqa: F403
from statusfd import Lines, reader

LEASE = "15s"
SHORT_LEASE = "4s" if row.name == "zookeeper" else "2s"
SOON_S = 5.0  # far less than the lease, and enough for a busy machine


def use(t, lease):
    t.env["HOLDFAST_URL"] = row.url(lease=lease)


def deadline(line):
    return datetime.datetime.fromisoformat(line["deadline"].replace("Z", "+00:00")).timestamp()


@contextlib.contextmanager
def held(t, stdin, **more):
    """A hold, its status lines, and until when the lock is surely held."""
    with reader(t, "hold", "-q", "a", stdin=stdin, **more) as (process, lines):
        while (line := lines.line())["event"] != "held":
            pass
        yield process, lines, deadline(line)


def killed(process, lines, known):
    """Kill it, and read to the end.  Returns the last deadline that it told."""
    process.kill()
    while (line := lines.line()) is not None:
        known = deadline(line)
    process.wait(hf.LIMIT)
    return known


def queue(t, *options):
    """Start the next, and wait until it is in the queue: it prints the time."""
    waiting = len(t.show("a")["waiters"])
    process = t.start("run", "-q", *options, "a", "--", "date", "+%s.%N")
    t.waiting("a", waiting + 1)
    return process


def began(t, waiter):
    done = t.finish(waiter)
    t.equal((done.code, done.err), (0, ""), "the next")
    return float(done.out)


def began_soon(t, waiter, since):
    later = began(t, waiter) - since
    t.true(later < SOON_S, f"the next began after {later:.1f} s")


def is_kept(t):
    t.equal(t.run("run", "-w", "0.5", "a", "--", "true").code, 75, "another process has it")


@case
def while_its_parent_lives_the_lock_is_kept_to_the_deadline(t):
    """Even if the parent closes stdin: many languages do so by themselves when their child has ended.
    This case is first, because a new Redis grants nothing for one lease, here a short one."""
    use(t, SHORT_LEASE)
    near, far = os.pipe()
    with open(far, "wb") as user, held(t, near) as (process, lines, known):
        os.close(near)
        waiter = queue(t)
        known = killed(process, lines, known)
        user.close()
        t.true(began(t, waiter) >= known, "before the deadline")
        t.until("the guardian has ended", lambda: not t.processes())


USER = """
import os, signal, subprocess, sys
near, far = os.pipe()
status = int(sys.argv[1])
child = subprocess.Popen([os.environ["HF"], "hold", "-q", "--status-fd", str(status), "a"],
                         stdin=near, pass_fds=[status])
os.close(near)
os.close(status)
print(child.pid, flush=True)
child.wait()
os.write(far, b"x" * 2**20)  # blocks nobody
os.close(far)
print("closed", flush=True)
signal.pause()
"""


@contextlib.contextmanager
def used(t):
    """A parent, in a process group of its own, and the pid of its hold."""
    t.path("user").write_text(USER)
    near, far = os.pipe()
    user = t.start("-S", str(t.path("user")), str(far), executable=sys.executable, pass_fds=[far],
                   start_new_session=True)
    os.close(far)
    lines = Lines(t, near)
    try:
        while lines.line()["event"] != "held":
            pass
        yield user, lines, int(user.stdout.readline())
    finally:
        os.close(near)


@case
def when_its_parent_is_dead_the_next_begins(t):
    use(t, LEASE)
    with used(t) as (user, lines, hold):
        os.kill(hold, signal.SIGKILL)
        lines.all()
        t.equal(user.stdout.readline(), b"closed\n")
        is_kept(t)
        waiter = queue(t)
        ended = time.time()
        user.kill()
        began_soon(t, waiter, ended)


@case
def when_hold_and_its_parent_are_killed_the_next_begins(t):
    use(t, LEASE)
    with used(t) as (user, lines, _):
        waiter = queue(t)
        ended = time.time()
        os.killpg(user.pid, signal.SIGKILL)
        began_soon(t, waiter, ended)


@case
def a_killed_hold_that_was_still_waiting_blocks_nobody(t):
    """Its parent was told nothing."""
    use(t, LEASE)
    near, far = os.pipe()
    holder = t.hold("a")
    with open(far, "wb"), reader(t, "hold", "-q", "a", stdin=near) as (process, lines):
        os.close(near)
        t.waiting("a", 1)
        waiter = queue(t)
        process.kill()
        lines.all()
        process.wait(hf.LIMIT)
        t.until("only the next waits", lambda: len(t.show("a")["waiters"]) == 1)
        ended = time.time()
        t.end(holder)
        began_soon(t, waiter, ended)


@case
def with_a_terminal_there_is_no_guardian(t):
    """The end of a terminal would mean nothing, so only the lease counts."""
    use(t, SHORT_LEASE)
    far, near = pty.openpty()
    with open(far, "wb"), held(t, near) as (process, lines, known):
        os.close(near)
        t.equal(len(t.processes()), 1, "processes")
        waiter = queue(t)
        known = killed(process, lines, known)
        t.true(began(t, waiter) >= known, "before the deadline")


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@case
def the_guardian_has_nothing_else_open(t):
    """It keeps no terminal and no pipe but stdin, and shows no password."""
    use(t, LEASE)
    with used(t) as (user, lines, hold):
        guardian, = children_of(hold)
        os.kill(hold, signal.SIGKILL)
        lines.all()
        t.equal(hf.name_of(guardian), "hf-guardian", "name")
        opened = [os.readlink(path) for path in pathlib.Path(f"/proc/{guardian}/fd").iterdir()]
        kinds = sorted(name.partition(":")[0] for name in opened)
        t.equal([kind for kind in kinds if kind not in ("/dev/null", "anon_inode")],
                ["pipe", "socket"], opened)  # stdin, and the socket to hold
        for name in ("cmdline", "environ"):
            t.lacks(pathlib.Path(f"/proc/{guardian}/{name}").read_bytes().decode(errors="replace"), SECRET)
        user.kill()


@case
def hold_works_without_a_guardian(t):
    if os.geteuid() != 0:
        raise hf.Skip("this needs root, to become a user without processes")
    use(t, LEASE)
    uid = 60000 + os.getpid() % 5000  # of no other process

    def become_poor():
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    near, far = os.pipe()
    with open(far, "wb") as user:
        process = t.start("hold", "a", stdin=near, preexec_fn=become_poor,
                          env={"ASAN_OPTIONS": "detect_leaks=0"})  # that needs a process, too
        os.close(near)
        t.until("it holds", lambda: t.show("a")["holders"])
        user.close()
        done = t.finish(process)
    t.equal(done.code, 0, done.err)
    t.contains(done.err, "if this process is killed")
    t.contains(done.err, 'holding "a"')


play()
