#!/usr/bin/env -S python3 -B
"""stopped.py - a waiter that is stopped, as by Ctrl-Z, keeps nobody waiting."""
import ctypes
from hf import *

WAITERS = (["run", "a", "--", "sh", "-c", "echo mine"], ["elect", "a", "--", "sh", "-c", "echo mine"],
           ["hold", "a"])


def start(t, *args):
    """In a process group of its own that can be stopped: its parent is in another one of
    the same session."""
    return t.start(*args, preexec_fn=os.setpgrp)


def stop(t, process):
    process.send_signal(signal.SIGTSTP)
    t.until("it is stopped", lambda: state_of(process.pid) == "T")


@case
def it_leaves_the_line_and_queues_again(t):
    for args in WAITERS:
        holder = t.hold("a")
        waiter = start(t, *args)
        t.waiting("a", 1)
        behind = t.start("run", "-q", "a", "--", "sh", "-c", "echo before")
        t.waiting("a", 2)
        for _ in range(2):
            stop(t, waiter)
            t.waiting("a", 1)
            waiter.send_signal(signal.SIGCONT)
            t.waiting("a", 2)
        stop(t, waiter)
        t.end(holder)
        t.equal(t.finish(behind).out, "before\n")
        t.equal(t.run("try", "a", "echo", "free").out, "free\n")
        waiter.send_signal(signal.SIGCONT)
        done = t.finish(waiter)
        t.equal((done.code, done.out), (0, "" if args[0] == "hold" else "mine\n"), args[0])
        t.contains(done.err, 'leaving the queue of "a"')


@case
def a_stopped_holder_is_marked(t):
    holder = t.hold("a")
    other = t.hold("b")
    t.lacks(t.run("list").out + t.run("show", "a").out + t.run("top", "--once").out + t.run("doctor").out, "stopped")
    t.equal([lock["holders"][0]["stopped"] for lock in t.list()], [False, False])
    holder.send_signal(signal.SIGSTOP)
    t.until("it is stopped", lambda: state_of(holder.pid) == "T")
    for words in (["list"], ["show", "a"], ["top", "--once"]):
        out = t.run(*words).out
        t.contains(out, "(stopped) ")
        t.equal(out.count("stopped"), 1)
    done = t.run("doctor")
    t.equal(done.code, 0)
    t.contains(done.out, f"(pid {holder.pid}, ")
    t.contains(done.out, "stopped)")
    t.contains(done.out, f"kill -CONT {holder.pid}")
    t.equal([lock["holders"][0]["stopped"] for lock in t.list()], [True, False])
    waiter = t.start("run", "-w", "1", "a", "true")
    t.contains(t.finish(waiter).err, ", stopped)")
    holder.send_signal(signal.SIGCONT)
    t.until("it goes on", lambda: not t.list()[0]["holders"][0]["stopped"])
    t.end(holder)
    t.end(other)


@case
def a_stop_that_comes_with_the_grant(t):
    """What is not yet used is given back."""
    libc = ctypes.CDLL(None, use_errno=True)
    for _ in range(3):
        holder = t.hold("a")
        waiter = start(t, "run", "-q", "a", "--", "sh", "-c", "echo mine")
        t.waiting("a", 1)
        if libc.ptrace(16, waiter.pid, None, None) < 0:  # PTRACE_ATTACH: it sees both at once
            raise Failure("ptrace")
        os.waitpid(waiter.pid, 0x40000000)
        t.end(holder)
        waiter.send_signal(signal.SIGTSTP)
        libc.ptrace(17, waiter.pid, None, None)
        t.until("it is stopped", lambda: state_of(waiter.pid) == "T")
        t.equal(t.run("run", "-w", "20", "a", "echo", "next").out, "next\n")
        waiter.send_signal(signal.SIGCONT)
        done = t.finish(waiter)
        t.equal((done.code, done.out), (0, "mine\n"))


@case
def the_time_to_wait_goes_on(t):
    holder = t.hold("a")
    waiter = start(t, "run", "-w", "0.5", "a", "--", "echo", "no")
    t.waiting("a", 1)
    stop(t, waiter)
    time.sleep(0.6)
    waiter.send_signal(signal.SIGCONT)
    done = t.finish(waiter)
    t.equal((done.code, done.out), (75, ""))
    t.contains(done.err, 'gave up waiting: "a" is held by')
    t.end(holder)


@case
def a_lock_that_is_free_by_then_is_granted(t):
    holder = t.hold("a")
    waiter = start(t, "run", "-w", "0.5", "a", "--", "echo", "mine")
    t.waiting("a", 1)
    stop(t, waiter)
    t.end(holder)
    time.sleep(0.6)
    waiter.send_signal(signal.SIGCONT)
    t.equal(t.finish(waiter).out, "mine\n")


@case
def a_signal_while_stopped_ends_it(t):
    holder = t.hold("a")
    waiter = start(t, "run", "a", "--", "echo", "no")
    t.waiting("a", 1)
    stop(t, waiter)
    waiter.terminate()
    waiter.send_signal(signal.SIGCONT)
    done = t.finish(waiter)
    t.equal((done.code, done.out), (143, ""))
    t.waiting("a", 0)
    t.end(holder)


@case
def one_that_cannot_be_stopped_goes_on(t):
    """Nobody could continue it: its session has no shell."""
    holder = t.hold("a")
    waiter = t.start("run", "-q", "a", "--", "echo", "mine", start_new_session=True)
    t.waiting("a", 1)
    waiter.send_signal(signal.SIGTSTP)
    t.until("it waits again", lambda: [entry["token"] for entry in t.show("a")["waiters"]])
    t.end(holder)
    t.equal(t.finish(waiter).out, "mine\n")


main()
