#!/usr/bin/env -S python3 -B
"""wait.py - wait: until nobody holds a lock, and nothing is taken."""
import re
from hf import *


def waiter(t, *options):
    """One that waits; returns when it has looked and says for whom."""
    process = t.start("wait", *options, "a")
    line = process.stderr.readline().decode()
    t.true(re.match(r'holdfast: waiting for "a": held \d+s by sh .*\(pid \d+, \S+\)\n$', line), line)
    return process


@case
def it_returns_at_once_for_a_free_lock(t):
    for options in ([], ["-n"], ["-w", "10"], ["-q"]):
        done = t.run("wait", *options, "a")
        t.equal((done.code, done.out, done.err), (0, "", ""), str(options))


@case
def it_ends_with_the_holder_and_takes_nothing(t):
    holder = t.hold("a")
    process = waiter(t)
    told = time.monotonic()
    t.equal(t.show("a")["waiters"], [])
    t.until("it has waited for more than a second", lambda: time.monotonic() > told + 0.7)
    t.end(holder)
    done = t.finish(process)
    t.equal((done.code, done.out), (0, ""))
    t.true(re.fullmatch(r'holdfast: waited \d+s for "a"\n', done.err), done.err)


@case
def it_ends_when_the_holder_is_killed(t):
    holder = t.hold("a")
    process = waiter(t)
    t.end(holder, signal.SIGKILL)
    t.equal(t.finish(process).code, 0)


@case
def it_waits_for_the_queue_too(t):
    holder = t.hold("a")
    second = t.start("run", "a", "--", "sh", "-c", "echo up; read x", stdin=subprocess.PIPE)
    t.waiting("a", 1)
    process = waiter(t)
    t.end(holder)
    t.equal(second.stdout.readline(), b"up\n")
    t.equal(t.run("wait", "-n", "a").code, 75)
    t.equal(process.poll(), None, "it still waits")
    t.finish(second)
    t.equal(t.finish(process).code, 0)


@case
def every_slot_has_to_be_free(t):
    holders = [t.hold("a", "--slots", "3") for _ in range(2)]
    process = waiter(t)
    t.end(holders[0])
    t.equal(t.run("wait", "-n", "a").code, 75)
    t.equal(process.poll(), None, "it still waits")
    t.end(holders[1])
    t.equal(t.finish(process).code, 0)


@case
def it_can_be_kept_short(t):
    holder = t.hold("a")
    for options, start, code in ((["-n"], '"a" is held by sh', 75), (["-w", "0"], '"a" is held by sh', 75),
                                 (["-w", "0.2"], 'gave up waiting: "a" is held by sh', 75),
                                 (["-w", "0.2", "-E", "0"], 'gave up waiting: "a" is held by sh', 0)):
        done = t.run("wait", *options, "a")
        t.equal((done.code, done.out), (code, ""), str(options))
        t.true(done.err.splitlines()[-1].startswith(f"holdfast: {start}"), done.err)
        t.equal(t.run("wait", "-q", *options, "a").err, "")
    t.end(holder)


@case
def it_does_not_wait_for_itself(t):
    done = t.run("run", "a", "--", HOLDFAST, "wait", "a")
    t.equal(done.code, 64)
    t.contains(done.err, "never end")
    t.equal(t.run("run", "a", "--", HOLDFAST, "wait", "-n", "-q", "a").code, 75)
    t.equal(t.run("run", "a", "--", HOLDFAST, "wait", "b").code, 0)


@case
def ctrl_c_ends_it(t):
    holder = t.hold("a")
    t.equal(t.end(waiter(t), signal.SIGINT).code, -signal.SIGINT)
    t.end(holder)


@case
def an_unreachable_store_is_reported(t):
    done = t.run("wait", "-w", "1", "--url", f"redis+unix:{t.folder}/no-server", "a")
    if "not built" in done.err or done.code == 64:
        raise Skip("without Redis")
    t.equal(done.code, 69, done.err)


main()
