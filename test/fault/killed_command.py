#!/usr/bin/env -S python3 -B
"""killed_command - kill -9 of holdfast: its guardian ends the session, and the next need not wait
for the lease.  But never while a process of the command is alive, or holdfast is only stopped.

    test/fault/killed_command.py [FOLDER] redis|postgres|zookeeper [ROUNDS] [CASE ...]
"""
import pathlib
import re
import signal
import time

from stores import *  # noqa: F403
import kill_after_send
from memory_group import MemoryGroup, make_victim

ROUNDS = next((int(arg) for arg in sys.argv[1:] if arg.isdigit()), 3)
LEASE = "15s"
SHORT_LEASE = "4s" if row.name == "zookeeper" else "2s"
SOON_NS = 5 * 10**9  # far less than the lease, and enough for a busy machine

# Records that it is alive, and until when.
MEMBER = """
import os, sys, time
fd = os.open(f"{os.environ['D']}/alive.{sys.argv[1]}", os.O_WRONLY | os.O_CREAT, 0o600)
while True:
    os.pwrite(fd, f"{os.getpid()} {time.monotonic_ns()} ".encode(), 0)
    time.sleep(0.002)
"""
TREE = """
( $PY $D/member doublefork & ) &
setsid $PY $D/member setsid &
( setsid $PY $D/member both & )
$PY $D/member left | $PY $D/member right
"""
MEMBERS = ("doublefork", "setsid", "both", "left", "right")

# The next command: prints which members were alive when it began, and when that was.
NEXT = """
import glob, os, time
begun = time.monotonic_ns()
for path in glob.glob(f"{os.environ['D']}/alive.*"):
    with open(path) as file:
        pid = file.read().split()[0]
    try:
        with open(f"/proc/{pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] not in "ZX":
                print(path)
    except OSError:
        pass
print(begun)
"""


def prepare(t, lease=LEASE):
    t.env["HOLDFAST_URL"] = row.url(lease=lease)
    t.env["PY"] = f"{sys.executable} -S -E"
    for name, text in (("member", MEMBER), ("tree", TREE), ("next", NEXT)):
        t.path(name).write_text(text)


def alive(t, member):
    """(pid, when it last recorded that), or None."""
    path = t.path(f"alive.{member}")
    words = path.read_text().split() if path.exists() else []
    return (int(words[0]), int(words[1])) if len(words) == 2 else None


def hold_with_tree(t, *before, **more):
    for member in MEMBERS:
        t.path(f"alive.{member}").unlink(missing_ok=True)
    holder = t.start(*before, "run", "a", "--", "sh", str(t.path("tree")), **more)
    for member in MEMBERS:
        t.until(f"{member} lives", lambda: alive(t, member))
    return holder


def queue(t, *options):
    """Start the next, and wait until it is in the queue."""
    waiting = len(t.show("a")["waiters"])
    process = t.start("run", "-q", *options, "a", "--", *t.env["PY"].split(), str(t.path("next")))
    t.waiting("a", waiting + 1)
    return process


def began(t, waiter):
    """When the next began; no process of the command was alive then."""
    done = t.finish(waiter)
    t.equal((done.code, done.err), (0, ""), "the next")
    *survivors, begun = done.out.splitlines()
    t.equal(survivors, [], "alive when the next began")
    last = max((alive(t, member)[1] for member in MEMBERS if alive(t, member)), default=0)
    t.true(last < int(begun), "a process was alive after the next began")
    return int(begun)


def began_soon(t, waiter, since):
    """How many milliseconds after that."""
    begun = began(t, waiter)
    t.true(begun - since < SOON_NS, f"the next began after {(begun - since) / 1e9:.1f} s")
    return (begun - since) / 1e6


def kill_and_replace(t, holder, waiter):
    """How many milliseconds from the kill to the next command."""
    killed = time.monotonic_ns()
    holder.kill()
    ms = began_soon(t, waiter, killed)
    t.finish(holder)
    return ms


def stop(t, process):
    process.send_signal(signal.SIGSTOP)
    t.until("it is stopped", lambda: hf.state_of(process.pid) == "T")


# ---- Not dead ---------------------------------------------------------------------------------


@case
def a_stopped_holdfast_loses_the_lock_after_its_command_has_ended(t):
    """The guardian ends the command but not the session, and waits for holdfast.
    This case is first, because a new Redis grants nothing for one lease, here a short one."""
    prepare(t, lease=SHORT_LEASE)
    holder = hold_with_tree(t)
    guardian, waiter = t.guardian(holder), queue(t)
    stop(t, holder)
    began(t, waiter)
    t.true(hf.state_of(guardian) not in "ZX", "the guardian has not waited")
    holder.send_signal(signal.SIGCONT)
    done = t.finish(holder)
    t.equal(done.code, 79, done.err)


@case
def a_stopped_holdfast_keeps_the_lock(t):
    prepare(t)
    holder = hold_with_tree(t)
    waiter = queue(t, "-w", "1")
    stop(t, holder)
    t.equal(t.finish(waiter).code, 75)
    t.true(all(hf.state_of(alive(t, member)[0]) not in "ZX" for member in MEMBERS), "all of the tree lives")
    holder.send_signal(signal.SIGCONT)
    t.end(holder, signal.SIGKILL)


def freed_by_the_lease(t, name="a"):
    t.equal(t.run("run", "-q", name, "true").code, 0, "the next")


# These wait for leases, and do not depend on the store: one is enough.
guardian_case = case if row.name == "redis" else lambda function: function


@guardian_case
def a_command_is_not_started_after_its_deadline(t):
    """Its guardian, or holdfast itself, was stopped when the lock was granted."""
    prepare(t, lease=SHORT_LEASE)
    holder = t.hold("a")
    late = t.start("run", "-q", "a", "--", "touch", str(t.path("late")))
    t.waiting("a", 1)
    guardian = t.guardian(late)
    os.kill(guardian, signal.SIGSTOP)
    t.end(holder)
    t.until("it holds", lambda: any(entry["pid"] == late.pid for entry in t.show("a")["holders"]))
    stop(t, late)
    freed_by_the_lease(t)
    os.kill(guardian, signal.SIGCONT)
    late.send_signal(signal.SIGCONT)
    done = t.finish(late)
    t.equal((done.code, t.path("late").exists()), (79, False), done.err)
    t.contains(done.err, "the command was not started")


@guardian_case
def a_command_is_not_started_after_a_blocked_message(t):
    """Nobody reads its stderr, which is full."""
    prepare(t, lease=SHORT_LEASE)
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    try:
        while os.write(mouth, b"x" * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(mouth, True)
    late = t.start("elect", "a", "--", "touch", str(t.path("late")), stderr=mouth)
    os.close(mouth)
    t.until("it leads", lambda: t.show("a")["holders"])
    holder = t.hold("a")  # when the lease is over
    text = "x"
    with open(ear, "rb", buffering=0) as file:
        while "others may have started" not in text:
            more = file.read(4096).decode()
            t.true(more, f"it has ended: {text}")
            text = (text + more).lstrip("x")
        t.contains(text, "the command was not started")
        t.end(late)
    t.equal(t.path("late").exists(), False, "started")
    t.end(holder)


@guardian_case
def a_guardian_locks_its_memory(t):
    if "-asan" in hf.HOLDFAST:
        raise hf.Skip("ASan does without mlockall()")
    prepare(t)
    holder = t.hold("a")
    with open(f"/proc/{t.guardian(holder)}/status") as file:
        locked = next(line.split()[1] for line in file if line.startswith("VmLck:"))
    t.true(int(locked) > 1000 or os.geteuid() != 0, f"{locked} kB are locked")
    t.end(holder)


@guardian_case
def a_stopped_guardian_learns_of_a_later_deadline_first(t):
    """holdfast has renewed the lock all the time."""
    prepare(t, lease=SHORT_LEASE)
    holder = t.hold("a")
    guardian = t.guardian(holder)
    os.kill(guardian, signal.SIGSTOP)
    end = time.monotonic() + 2 * int(SHORT_LEASE[:-1])
    t.until("two leases are over", lambda: time.monotonic() > end)
    os.kill(guardian, signal.SIGCONT)
    done = t.end(holder)
    t.equal(done.code, 143, done.err)


# ---- Killed -----------------------------------------------------------------------------------


@case
def the_next_begins_when_all_processes_of_the_command_are_gone(t):
    prepare(t)
    times = sorted(kill_and_replace(t, hold_with_tree(t), queue(t)) for _ in range(ROUNDS))
    print("# ms from the kill to the next command:", " ".join(f"{ms:.0f}" for ms in times))


@case
def the_same_if_holdfast_had_children_before(t):
    prepare(t)
    script = 'sleep 1000 >/dev/null 2>&1 & echo $! >$D/older; exec "$HF" "$@"'
    holder = hold_with_tree(t, "-c", script, "sh", executable="/bin/sh")
    kill_and_replace(t, holder, queue(t))
    os.kill(int(t.path("older").read_text()), signal.SIGKILL)


@case
def a_killed_waiter_blocks_nobody(t):
    prepare(t)
    holder = t.hold("a")
    first, second = queue(t), queue(t)
    ended = time.monotonic_ns()
    first.kill()
    t.end(holder)
    began_soon(t, second, ended)
    t.finish(first)


@case
def killed_right_after_it_has_sent_an_enter(t):
    """Only the guardian knows of the place by then."""
    prepare(t)
    t.env["HOLDFAST_URL"] = row.url(lease=LEASE, more=row.plain)
    token = ["run", "-q", "rarename", "--", "sh", "-c", "echo $HOLDFAST_TOKEN"]
    before = int(t.run(*token).out)
    t.equal(t.run("run", "-q", "rarename", "true", env=kill_after_send.after(t.folder, row.sent("rarename"))).code, -signal.SIGKILL)
    done = t.run(*token)
    t.true(int(done.out) >= before + 2, "a place was taken")
    t.true(done.seconds < SOON_NS / 1e9, f"the next began after {done.seconds:.1f} s")


@case
def killed_after_the_command_has_ended_and_before_the_release(t):
    prepare(t)
    for options, after in (([], ""), (["--leftovers", "leave"], "sleep 1000 >/dev/null 2>&1 & ")):
        holder = t.hold("a", *options, script=f"while ! test -e $D/go; do sleep 0.01; done; {after}exit 0")
        waiter = queue(t)
        stop(t, holder)
        t.path("go").touch()
        t.until("the command has ended", lambda: hf.state_of(holder.command) == "X")
        kill_and_replace(t, holder, waiter)
        t.path("go").unlink()
        for pid, command in t.processes().items():
            t.equal((command, options != []), ("sleep 1000 ", True), "left alive")
            os.kill(pid, signal.SIGKILL)


@case
def the_password_may_come_from_the_environment(t):
    """It is in memory right behind a short command line, where the guardian then writes that the
    command has ended and left a process."""
    prepare(t)
    t.env["HOLDFAST_URL"], variable = row.by_environment(LEASE)
    t.env = variable | t.env
    t.path("j").write_text("#!/bin/sh\nsetsid sleep 1000 >/dev/null 2>&1 &\n")
    t.path("j").chmod(0o755)
    holder = t.start("run", "-q", "a", "./j", called="h", cwd=t.folder)
    t.contains(holder.stderr.readline().decode(), "left sleep")
    guardian, waiter = t.guardian(holder), queue(t)
    t.contains(pathlib.Path(f"/proc/{guardian}/cmdline").read_text(), "the command ended at")
    kill_and_replace(t, holder, waiter)


@guardian_case
def a_lease_that_ends_before_hold_at_least_needs_no_guardian(t):
    prepare(t, lease=SHORT_LEASE)
    holder = t.hold("a", "--hold-at-least", "10m")
    t.end(holder, signal.SIGKILL)
    t.until("its guardian is gone", lambda: not t.processes())
    freed_by_the_lease(t)


@case
def a_killed_leader_is_replaced_in_a_later_term(t):
    prepare(t)
    script = "n=$(cat $D/n 2>/dev/null || echo 0); n=$((n + 1)); echo $n >$D/n; test $n -lt 2 || sleep 1000"
    leader = t.start("elect", "--again", "a", "--", "sh", "-c", script)
    t.until("it leads again", lambda: t.path("n").exists() and t.path("n").read_text() == "2\n")
    kill_and_replace(t, leader, queue(t))


@case
def the_guardian_waits_for_a_server_that_is_away(t):
    """Meanwhile the guardian has a normal priority, has no pipe open, and shows no password.  The session
    key is in no core dump, and no child inherits it."""
    prepare(t)
    holder = t.hold("a", script="exec sleep 1000")
    guardian, waiter = t.guardian(holder), queue(t)
    row.freeze()
    try:
        holder.kill()
        holder.communicate(timeout=hf.LIMIT)  # until its pipes are closed
        t.until("the command is gone", lambda: hf.state_of(holder.command) == "X")
        t.until("its priority is normal", lambda: os.sched_getscheduler(guardian) in (
            os.SCHED_OTHER, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK))
        for name in ("cmdline", "environ"):
            t.lacks(pathlib.Path(f"/proc/{guardian}/{name}").read_bytes().decode(errors="replace"), SECRET)
        smaps = pathlib.Path(f"/proc/{guardian}/smaps").read_text()
        t.true(re.search(r"^VmFlags:(?=.* dd)(?=.* wf)", smaps, re.MULTILINE), "where the session key is kept")
        t.equal(hf.name_of(guardian), "hf-guardian", "the guardian")
    finally:
        row.thaw()
    began_soon(t, waiter, time.monotonic_ns())


@case
def if_the_guardian_is_killed_too_the_lease_has_to_run_out(t):
    prepare(t, lease=SHORT_LEASE)
    holder = t.hold("a", script="exec sleep 1000")
    guardian, waiter = t.guardian(holder), queue(t)
    stop(t, holder)
    os.kill(guardian, signal.SIGKILL)
    holder.kill()
    began(t, waiter)
    t.finish(holder)


# ---- Out of memory ------------------------------------------------------------------------------

# The kernel kills the largest process, and holdfast counts as if it had all of the group's memory and
# its own.  That is little.  So a part of the memory that the eater takes belongs to no process.
EATER = """
import os, time
os.write(os.memfd_create("food"), b"x" * 2**24)
while not os.path.exists(os.environ["D"] + "/eat"): time.sleep(0.01)
food = []
while True: food.append(b"x" * 2**20)
"""


def memory_group():
    try:
        return MemoryGroup()
    except server_process.Missing as reason:
        raise hf.Skip(reason)


@case
def killed_for_lack_of_memory(t):
    prepare(t)
    t.path("eater").write_text(EATER)
    with memory_group() as group:
        holder = t.start(*group.inside([hf.HOLDFAST, "run", "a", "--", "sh", "-c", "exec $PY $D/eater"])[1:],
                         executable="/bin/sh")
        t.until("it holds", lambda: t.show("a")["holders"])
        waiter = queue(t)
        make_victim(holder.pid)
        t.path("eat").touch()
        holder.wait(hf.LIMIT)
        ended = time.monotonic_ns()
        t.equal(holder.returncode, -9, "killed")
        t.true(group.kills() > 0, "the kernel has counted the kill")
        began_soon(t, waiter, ended)
        t.until("all processes are gone", lambda: not t.processes())


play()
