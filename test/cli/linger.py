#!/usr/bin/env -S python3 -B
"""linger.py - --hold-at-least: a lock is kept for a while after the command's end."""
import re
from hf import *


def keeping(t, *words, name="a"):
    """Start it; returns when its command has ended and the lock is kept."""
    process = t.start(*words)
    line = process.stderr.readline().decode()
    t.true(re.fullmatch(rf'holdfast: the command has ended: keeping "{name}" for another \S+\n', line), line)
    t.equal(len(t.show(name)["holders"]), 1, "holders")
    return process


@case
def machines_with_clocks_that_differ_run_a_job_once(t):
    """Two of them start it, by clocks that are two seconds apart.  Without the option it is run twice."""
    jobs = {name: ["try", "-E", "0", *options, name, "--", "sh", "-c", f"echo >>$D/{name}"]
            for name, options in (("once", ["--hold-at-least", "10m"]), ("twice", []))}

    def runs():
        return {name: len(t.path(name).read_text()) for name in jobs if t.path(name).exists()}

    first = [t.start(*job) for job in jobs.values()]
    t.until("both have run", lambda: runs() == {"once": 1, "twice": 1})
    t.until("the other clock has come there", lambda: time.monotonic() > first[1].begin + 2)
    t.equal([t.run(*job).code for job in jobs.values()], [0, 0])
    t.equal([t.end(process).code for process in first], [0, 0])
    t.equal(runs(), {"once": 1, "twice": 2})


@case
def the_time_is_counted_from_the_grant_and_the_exit_code_is_kept(t):
    done = t.run("run", "--hold-at-least", "0.6", "a", "--", "sh", "-c", "exit 7")
    t.equal(done.code, 7)
    t.true(done.seconds >= 0.6, f"{done.seconds} s")
    t.one_line(done.err)
    t.contains(done.err, 'keeping "a" for another 1s')
    done = t.run("run", "--hold-at-least", "0.1", "a", "--", "sh", "-c", "sleep 0.2; exit 7")
    t.equal((done.code, done.err), (7, ""), "the command took longer")
    done = t.run("run", "-q", "--hold-at-least", "0.1", "a", "--", "sh", "-c", "kill -TERM $$")
    t.equal((done.code, done.err), (143, ""))


@case
def every_kind_of_lock_is_kept(t):
    for options, rival in ((["-s"], ["-x"]), (["-x"], ["-s"]), (["--claim"], ["--claim"]),
                           (["--slots", "2", "--weight", "2"], ["--slots", "2"])):
        process = keeping(t, "run", *options, "--hold-at-least", "10m", "a", "true")
        t.equal(t.run("try", *rival, "a", "true").code, 75, str(options))
        t.equal(t.end(process).code, 0)


@case
def a_signal_ends_the_wait(t):
    for number, code in ((signal.SIGTERM, 7), (signal.SIGHUP, 7), (signal.SIGINT, -signal.SIGINT)):
        process = keeping(t, "run", "--hold-at-least", "10m", "a", "--", "sh", "-c", "exit 7")
        done = t.end(process, number)
        t.equal((done.code, done.err), (code, ""))
        t.equal(t.list(), [], "locks")


@case
def a_user_who_stops_the_command_does_not_wait(t):
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)):
        done = t.end(t.hold("a", "--hold-at-least", "10m", script="exec sleep 1000"), number)
        t.equal((done.code, done.err), (code, ""))


@case
def a_loss_after_the_end_is_reported(t):
    process = keeping(t, "run", "--hold-at-least", "10m", "a", "--", "sh", "-c", "exit 7")
    t.equal(t.run("break", "--yes", "a").code, 0)
    done = t.finish(process)
    t.equal(done.code, 7)
    t.one_line(done.err)
    t.contains(done.err, "lost after the command had ended")


@case
def the_lock_is_not_kept_if_nothing_ran_or_it_was_lost(t):
    t.equal(t.run("run", "--hold-at-least", "10m", "a", "/no/such").code, 127)
    t.equal(t.run("run", "--hold-at-least", "10m", "a", str(t.folder)).code, 126)
    holder = t.hold("a", "--hold-at-least", "10m")
    t.equal(t.run("break", "--yes", "a").code, 0)
    t.equal(t.finish(holder).code, 79)
    holder = t.hold("a", "--hold-at-least", "10m")
    os.kill(t.guardian(holder), signal.SIGKILL)
    t.equal(t.finish(holder).code, 79)


@case
def max_run_does_not_shorten_it(t):
    process = t.start("run", "--max-run", "0.1", "--hold-at-least", "10m", "a", "sleep", "1000")
    t.contains(process.stderr.readline().decode(), "--max-run is over")
    t.contains(process.stderr.readline().decode(), "keeping")
    t.equal(t.end(process).code, 124)


@case
def the_guardian_of_a_killed_run_keeps_the_lock(t):
    """After the command's end, and together with the command."""
    holders = {"a": keeping(t, "run", "--hold-at-least", "1.5", "a", "true"),
               "b": t.hold("b", "--hold-at-least", "1.5")}
    now = [sys.executable, "-c", "import time; print(time.monotonic())"]
    for holder in holders.values():
        t.end(holder, signal.SIGKILL)
    following = {name: t.start("run", "-q", name, "--", *now) for name in holders}
    for name, process in following.items():
        t.true(float(t.finish(process).out) - holders[name].begin >= 1.5, f"the next of {name} began too soon")


@case
def requests_are_reported_meanwhile(t):
    process = keeping(t, "run", "--on-ask", "TERM", "--hold-at-least", "10m", "a", "true")
    t.equal(t.run("ask", "a", "--reason", "lunch").code, 0)
    t.contains(process.stderr.readline().decode(), "lunch")
    t.equal(t.end(process).code, 0)


@case
def a_leader_keeps_the_lock_in_each_term(t):
    process = t.start("elect", "--again", "--hold-at-least", "0.3", "a", "--", "sh", "-c", "echo >>$D/terms")
    for part in ("elected", "keeping", "the command ended with 0; taking part", "elected", "keeping"):
        t.contains(process.stderr.readline().decode(), part)
    process.terminate()
    t.finish(process)
    t.true(len(t.path("terms").read_text()) >= 2, "terms")


main()
