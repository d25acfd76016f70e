#!/usr/bin/env -S python3 -B
"""retimed - a session whose time changes when it gets a new connection, because the
servers' maxSessionTimeout is another: the old holder stops before the next is let in.

The server is started anew each time, which is a new leader, too.
"""
import signal

from hands import *  # noqa: F403

SHORT, LONG = 6, 20  # seconds
SERVER = None


def allow(seconds):
    """The server goes, and comes back with sessions of this length at most."""
    SERVER[1].kill()
    path = SERVER[1].folder / "zoo.cfg"
    lines = [line for line in path.read_text().splitlines() if "maxSession" not in line]
    path.write_text("\n".join([*lines, f"maxSessionTimeout={seconds * 1000}", ""]))
    SERVER[1].start()
    SERVER.wait()


def is_connected(count=1):
    return SERVER[1].word("cons").count("sid=") == count


def stop(hand):
    """It is told nothing any more; returns until when it would work."""
    _, deadline, _ = hand.belief()
    hand.process.send_signal(signal.SIGSTOP)
    return deadline


def check(t, old, new, deadline):
    grant, _ = new.hears("held")
    print(f"# deadline {grant - deadline:.2f} s before the next grant")
    t.true(deadline < grant, f"two holders for {deadline - grant:.2f} s")
    old.process.send_signal(signal.SIGCONT)
    t.equal(old.hears("lost")[2], "HF_ELOST", "release")
    t.equal(new.let_go(), "0", "release")


@case
def a_shorter_time_than_before(t):
    """The leader counts the new time from the moment we connect."""
    allow(LONG)
    old = Hand(t, "hold", url(SERVER, LONG), "shorter")
    old.hears("held")
    allow(SHORT)
    t.until("the session is on the new server", is_connected)
    new = Hand(t, "hold", url(SERVER, LONG), "shorter")
    t.until("both are there", lambda: is_connected(2))
    check(t, old, new, stop(old))


@case
def a_longer_time_than_before(t):
    """The next leader counts the time that the session was made with."""
    allow(SHORT)
    old = Hand(t, "hold", url(SERVER, LONG), "longer")
    old.hears("held")
    allow(LONG)
    t.until("the session is on the new server", is_connected)
    time.sleep(1)  # some heartbeats
    deadline = stop(old)
    allow(LONG)
    check(t, old, Hand(t, "hold", url(SERVER, LONG), "longer"), deadline)


if __name__ == "__main__":
    with store("zk"), zookeeper.standalone(tick=200) as SERVER:
        hf.main()
