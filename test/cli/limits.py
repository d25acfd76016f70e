#!/usr/bin/env -S python3 -B
"""limits.py - how long a command may run."""
from hf import *

STUBBORN = """
trap '' TERM
( setsid sleep 1000 >/dev/null 2>&1 & )
sleep 1000 | sleep 1000
"""


def with_time_enough(attempt):
    """Try with more and more time, until what has to come first has come first."""
    for seconds in ("0.2", "1", "5", "25"):
        if attempt(seconds):
            return
    raise Failure("no time was enough")


@case
def a_command_that_is_asked_may_end_in_its_own_way(t):
    def asked(seconds):
        done = t.run("run", "--max-run", seconds, "a", "--", "sh", "-c",
                     "trap 'echo asked; exit 3' TERM; while :; do sleep 0.01; done")
        t.equal(done.code, 124)
        t.contains(done.err, "holdfast: --max-run is over: ")
        if done.out == "asked\n":
            t.contains(done.err, "the command was asked to end, and did")
        return done.out

    with_time_enough(asked)


@case
def after_the_grace_nothing_of_it_is_left(t):
    done = t.run("run", "--max-run", "0.3", "--grace", "0.1", "a", "--", "sh", "-c", STUBBORN)
    t.equal((done.code, done.out), (124, ""))
    t.one_line(done.err)
    t.contains(done.err, "--max-run is over: the command was ended")
    t.equal((t.processes(), t.list()), ({}, []), "what is left")


@case
def a_command_that_ends_in_time_is_left_alone(t):
    done = t.run("run", "--max-run", "1h", "a", "--", "sh", "-c", "exit 5")
    t.equal((done.code, done.err), (5, ""))
    t.equal(t.run("try", "--max-run", "0.1", "a", "/no/such").code, 127)


@case
def the_signal_can_be_chosen_and_is_no_interrupt(t):
    t.equal(t.run("run", "--signal", "INT", "--max-run", "0.1", "a", "sleep", "1000").code, 124)


@case
def leftovers_are_ended_too(t):
    def outlives(seconds):
        done = t.run("run", "-q", "--max-run", seconds, "a", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & exit 5")
        t.equal(done.code, 124)
        return "what was left of the command was ended" in done.err

    with_time_enough(outlives)


@case
def a_stopped_holdfast_does_not_prolong_it(t):
    def stopped(seconds):
        process = t.start("run", "--max-run", seconds, "a", "--", "sh", "-c", "echo up; exec sleep 1000")
        t.equal(process.stdout.readline(), b"up\n")
        process.send_signal(signal.SIGSTOP)
        t.until("it is stopped, or over", lambda: state_of(process.pid) in "TZ")
        was_stopped = state_of(process.pid) == "T" and "sleep 1000 " in t.processes().values()
        t.until("the command has ended", lambda: "sleep 1000 " not in t.processes().values())
        process.send_signal(signal.SIGCONT)
        t.equal(t.finish(process).code, 124)
        return was_stopped

    with_time_enough(stopped)


@case
def a_lost_lock_counts_for_more_than_max_run(t):
    def lost_after_that(seconds):
        process = t.start("run", "--max-run", seconds, "--grace", "1000", "a", "--", "sh", "-c",
                          "trap 'echo asked' TERM; while :; do sleep 0.01; done")
        if process.stdout.readline() != b"asked\n":  # it was not ready for that
            t.equal(t.finish(process).code, 124)
            return False
        t.equal(t.run("break", "--yes", "a").code, 0)
        t.equal(t.finish(process).code, 79)
        return True

    with_time_enough(lost_after_that)


@case
def a_leader_may_be_elected_again(t):
    done = t.run("elect", "-q", "--max-run", "0.1", "a", "sleep", "1000")
    t.equal(done.code, 124)
    leader = t.start("elect", "--again", "--max-run", "0.1", "a", "--", "sh", "-c", "echo >>$D/terms; exec sleep 1000")
    t.until("it led twice", lambda: t.path("terms").exists() and len(t.path("terms").read_text()) >= 2)
    leader.terminate()
    t.contains(t.finish(leader).err, 'the command ended with 124; taking part in "a" again')


main()
