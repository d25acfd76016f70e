#!/usr/bin/env -S python3 -B
"""upgrade - two versions of Holdfast whose data have different layouts meet on one Redis server:
the one in build/, and as the newer one the one in build/next/."""
import functools
import signal
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import redis  # noqa: E402
import command_case  # noqa: E402


server = None


def case(function):
    """In a namespace of its own, after the grace period."""
    @functools.wraps(function)
    def wrapped(t):
        command_case.settle(t, f"redis://{server.address}?ttl=2s&prefix={function.__name__}")
        function(t)
    return command_case.case(wrapped)


def newer(t, *args):
    return t.run(*args, executable=hf.NEXT)


def token(done):
    return int(done.out)


def refused(t, done, what):
    t.equal((done.code, done.out), (64, ""), done.err)
    t.contains(done.err, f"is used by {what} version of Holdfast (layout ")


TELL = ["run", "-w", "9", "job", "--", "sh", "-c", "echo $HOLDFAST_TOKEN"]


@case
def the_newer_version_waits_for_the_older_sessions(t):
    before = token(t.run(*TELL))
    holder = t.hold("job")
    for args in (["run", "-w", "9", "job", "--", "true"], ["try", "other", "--", "true"], ["list"]):
        done = newer(t, *args)
        refused(t, done, "an older")
        t.contains(done.err, "sessions: 1; the last ends in ")
        t.contains(done.err, "`holdfast list`")
    t.equal(t.run("run", "-w", "0.2", "job", "--", "true").code, 75, "the older exclude each other")
    t.equal(t.end(holder).code, 128 + signal.SIGTERM)
    done = newer(t, *TELL)
    t.equal((done.code, done.err), (0, ""), "at once, without a grace period")
    t.true(token(done) > before, f"{token(done)} after {before}")


@case
def the_older_version_is_refused_from_then_on(t):
    t.equal(newer(t, *TELL).code, 0)
    for args in (["run", "-w", "9", "job", "--", "true"], ["try", "other", "--", "true"], ["list"]):
        refused(t, t.run(*args), "a newer")
    t.equal(newer(t, "list").code, 0)


@case
def an_expired_lease_is_enough(t):
    """The older one is suspended, and finds the newer one in its place when it resumes."""
    before = token(t.run(*TELL))
    holder = t.hold("job")
    holder.send_signal(signal.SIGSTOP)
    refused(t, newer(t, *TELL), "an older")

    def replaced():
        done = newer(t, *TELL)
        return done if done.code == 0 else refused(t, done, "an older")
    done = t.until("its lease has ended", replaced)
    t.true(token(done) > before, f"{token(done)} after {before}")
    holder.send_signal(signal.SIGCONT)
    t.true(t.finish(holder).code != 0, "the older one did not notice")
    refused(t, t.run(*TELL), "a newer")


if __name__ == "__main__":
    with store("redis"), redis.standalone() as server:
        hf.main()
