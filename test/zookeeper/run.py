#!/usr/bin/env -S python3 -B
"""run.py - `holdfast run` on a ZooKeeper server: its command is dead before another client can hold
the lock, whatever stops answering."""
import datetime
import json
import signal

from holders import *  # noqa: F403

SERVER = None
SESSION = 4  # seconds
LONG = 20  # for cases in which a busy machine must not lose the lock
TICKING = "while :; do date +%s.%N >{0}.new; mv {0}.new {0}; sleep 0.02; done"


def begin(t, name, session=SESSION, before=""):
    """A run whose command keeps writing the time while it lives."""
    t.env["HOLDFAST_URL"] = url(SERVER, session)
    t.beat = t.path("beat")
    return t.hold(name, script=before + TICKING.format(t.beat))


def last_beat(t):
    return float(t.beat.read_text())


def next_holder_starts(t, name):
    """The time at which another client gets the lock."""
    done = t.run("run", "-w", "60", name, "--", "date", "+%s.%N")
    t.equal(done.code, 0, "the next holder's status")
    return float(done.out)


def ends_without_server(t, holder, name):
    """The server stops answering: the holder must end before another client starts."""
    time.sleep(1.2)  # some heartbeats
    SERVER[1].freeze()
    stopped = time.time()
    try:
        done = t.finish(holder)
    finally:
        SERVER[1].thaw()
    t.equal(done.code, 79, "exit code")
    t.true(last_beat(t) - stopped < SESSION, "the command outlived the session")
    t.true(next_holder_starts(t, name) > last_beat(t), "two ran at once")
    return done


@case
def the_command_ends_when_the_server_is_silent(t):
    holder = begin(t, "frozen")
    done = ends_without_server(t, holder, "frozen")
    first, last = done.err.splitlines(keepends=True)
    t.contains(first, '; trying again: "frozen" is safe for ')
    t.one_line(last)
    t.contains(last, "did not answer in time")


@case
def a_command_that_ignores_sigterm_is_killed_at_the_deadline(t):
    holder = begin(t, "deaf", before="trap '' TERM; ")
    ends_without_server(t, holder, "deaf")


@case
def the_command_ends_when_holdfast_is_stopped(t):
    holder = begin(t, "stopped")
    time.sleep(1.2)
    holder.send_signal(signal.SIGSTOP)
    began = next_holder_starts(t, "stopped")
    t.true(began > last_beat(t), f"two ran at once for {last_beat(t) - began} s")
    holder.send_signal(signal.SIGCONT)
    t.equal(t.finish(holder).code, 79, "exit code")


@case
def the_command_ends_when_holdfast_is_killed(t):
    holder = begin(t, "killed")
    t.until("it has begun", t.beat.exists)
    holder.kill()
    began = next_holder_starts(t, "killed")
    t.true(began > last_beat(t), "two ran at once")


@case
def a_restarted_server_ends_no_command(t):
    holder = begin(t, "restart", LONG)
    SERVER[1].kill()
    SERVER[1].start()
    SERVER.wait()
    t.equal(t.run("try", "restart", "--", "true").code, 75, "a try meanwhile")
    t.until("it is connected again", lambda: SERVER[1].word("cons").count("sid=") == 1)
    t.equal(holder.poll(), None, "the holder's status")
    t.equal(t.end(holder).code, 128 + signal.SIGTERM, "exit code")


@case
def show_tells_since_when_it_is_held(t):
    """Not since it queued; and an ASK does not change that."""
    t.env["HOLDFAST_URL"] = url(SERVER, LONG)
    first = t.hold("since")
    second = t.start("run", "since", "--", "sleep", "1000")
    t.waiting("since", 1)
    time.sleep(2.5)
    first.terminate()
    ended = time.time()
    t.finish(first)

    def holder():
        return t.show("since")["holders"][0]

    t.until("it says so", lambda: holder()["age_ms"] < (time.time() - ended + 1.5) * 1000)
    t.equal(t.run("ask", "since").code, 0, "exit code of ask")
    t.true(holder()["age_ms"] < (time.time() - ended + 1.5) * 1000, "not since then")
    t.equal(t.end(second).code, 128 + signal.SIGTERM, "exit code")


@case
def an_observer_sees_since_when_it_leads(t):
    """Not since it queued, even for an observer that saw it wait."""
    t.env["HOLDFAST_URL"] = url(SERVER, LONG)
    observer = t.start("elect", "--observe", "--json", "boss")

    def leader():
        return json.loads(observer.stdout.readline())["leader"]

    t.equal(leader(), None, "nobody yet")
    first = t.start("elect", "boss", "--", "sleep", "1000")
    t.equal(leader()["pid"], first.pid, "the first leader")
    second = t.start("elect", "boss", "--", "sleep", "1000")
    t.waiting("boss", 1)
    time.sleep(2.5)
    ended = time.time()
    t.end(first)
    now = leader()
    t.equal(now["pid"], second.pid, "the second leader")
    since = datetime.datetime.fromisoformat(now["since"].replace("Z", "+00:00")).timestamp()
    t.true(abs(since - ended) < 1.5, f"since {since - ended:+.3f} s")
    t.end(second)
    t.end(observer, signal.SIGINT)


if __name__ == "__main__":
    with store("zk"), zookeeper.standalone(
            tick=200, config={"maxSessionTimeout": LONG * 1000}) as SERVER:
        hf.main()
