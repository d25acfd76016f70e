#!/usr/bin/env -S python3 -B
"""ask.py - asking for a lock, being asked, limits of the queue, and what is said
when a name is in use as something else."""
import re
from hf import *


@case
def nobody_to_ask_is_1_as_with_show(t):
    done = t.run("ask", "a")
    t.equal((done.code, done.out), (1, ""))
    t.one_line(done.err)
    t.contains(done.err, "nobody")
    t.equal(t.run("show", "a").code, done.code)


@case
def a_request_is_reported_on_stderr(t):
    for verb in ("run", "elect"):
        holder = t.start(verb, "a", "--", "sleep", "1000")
        t.until("it is held", lambda: t.show("a")["holders"])
        if verb == "elect":
            holder.stderr.readline()
        done = t.run("ask", "a", "--reason", "disk \x1b full")
        t.equal((done.code, done.err), (0, 'holdfast: asked 1 holder of "a"\n'))
        t.equal(holder.stderr.readline(), b'holdfast: somebody asks for "a": disk \\u001b full\n')
        t.equal(t.run("ask", "a").code, 0)
        t.equal(holder.stderr.readline(), b'holdfast: somebody asks for "a"\n')
        t.equal(t.run("try", "-q", "a", "true").code, 75, "it is still held")
        t.end(holder)


@case
def on_ask_signals_the_command_for_each_reason(t):
    script = "exec 2>/dev/null; trap 'echo asked' USR1; echo up; while :; do sleep 0.02; done"
    for verb in ("run", "elect"):
        holder = t.start(verb, "-q", "--on-ask", "USR1", "a", "--", "sh", "-c", script)
        t.equal(holder.stdout.readline(), b"up\n")
        for reason in ("one", "two"):
            t.equal(t.run("ask", "--reason", reason, "a").code, 0)
            t.equal(holder.stdout.readline(), b"asked\n")
        done = t.end(holder)
        t.equal((done.code, done.out, done.err), (143, "", ""))


@case
def a_command_that_ends_when_asked_yields_to_the_next(t):
    holder = t.hold("a", "--on-ask", "SIGTERM")
    waiter = t.start("run", "a", "--", "echo", "mine")
    t.waiting("a", 1)
    t.equal(t.run("ask", "a").code, 0)
    done = t.finish(holder)
    t.equal((done.code, done.err), (143, ""))
    t.equal(t.finish(waiter).out, "mine\n")


@case
def all_holders_are_asked_and_no_waiter(t):
    holders = [t.hold("a", "--slots", "2") for _ in range(2)]
    waiter = t.start("run", "-q", "--slots", "2", "a", "true")
    t.waiting("a", 1)
    t.equal(t.run("ask", "a", "--reason", "x").err, 'holdfast: asked 2 holders of "a"\n')
    for holder in holders:
        t.equal(holder.stderr.readline(), b'holdfast: somebody asks for "a": x\n')
        t.end(holder)
    t.equal(t.finish(waiter).err, "")


@case
def quiet_reports_no_requests(t):
    holder = t.hold("a", "-q")
    t.equal(t.run("ask", "a").code, 0)
    t.until("it had the time", lambda: time.monotonic() > holder.begin + 0.3)
    t.equal(t.end(holder).err, "")


@case
def hold_keeps_it_unless_told_to_yield(t):
    for options in ([], ["--yield"]):
        holder = t.start("hold", *options, "a", stdin=subprocess.PIPE)
        holder.stderr.readline()
        t.equal(t.run("ask", "a", "--reason", "lunch").code, 0)
        line = holder.stderr.readline().decode()
        t.true(line.startswith('holdfast: somebody asks for "a": lunch'), line)
        if options:
            t.contains(line, "releasing")
            t.equal(holder.wait(LIMIT), 0)
        else:
            t.equal(t.run("try", "-q", "a", "true").code, 75)
            t.equal(t.end(holder).code, 0)
    t.equal(t.run("try", "a", "true").code, 0)


@case
def max_waiters_limits_the_queue(t):
    holder = t.hold("a")
    waiter = t.start("run", "--max-waiters", "1", "a", "--", "echo", "mine")
    t.waiting("a", 1)
    for args in (["run"], ["hold"]):
        command = ["true"] if args == ["run"] else []
        done = t.run(*args, "--max-waiters", "1", "a", *command)
        t.equal((done.code, done.err),
                (75, 'holdfast: 1 waits for "a" already: --max-waiters is 1\n'))
    t.equal(t.run("run", "-E", "9", "-q", "--max-waiters=1", "a", "true").code, 9)
    t.equal(len(t.show("a")["waiters"]), 1)
    t.end(holder)
    t.equal(t.finish(waiter).out, "mine\n")
    for bad in ("0", "-1", "x"):
        t.equal(t.run("run", "--max-waiters", bad, "a", "true").code, 64)


@case
def a_mismatch_names_the_holder_and_its_kind(t):
    for options, kind in (([], "a mutex"), (["--claim"], "a claim"),
                          (["--slots", "3"], "a semaphore (--slots 3)"),
                          (["-s"], "a read/write lock (-s, -x)")):
        holder = t.hold("a", *options)
        other = [] if options == ["-s"] else ["-x"]
        done = t.run("run", *other, "a", "true")
        t.equal(done.code, 64)
        t.one_line(done.err)
        t.true(re.search(rf'"a" is in use as {re.escape(kind)} by sh .*\(pid {holder.pid}, .*\); '
                         "use the same kind everywhere", done.err), done.err)
        if "--slots" in options:
            t.equal(t.run("run", "--slots", "4", "a", "true").err, done.err)
        t.end(holder)


main()
