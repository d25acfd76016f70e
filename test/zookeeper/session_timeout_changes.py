#!/usr/bin/env -S python3 -B
"""session_timeout_changes - a session's timeout changes with a new connection, because the server's
maxSessionTimeout has changed: the old holder stops before the next one gets the lock.

The server is restarted each time, which makes it a new leader, too.
"""
import signal

from holders import *  # noqa: F403

SHORT, LONG = 6, 20  # seconds
SERVER = None


def allow(seconds):
    """Restart the server with this maxSessionTimeout."""
    SERVER[1].kill()
    path = SERVER[1].folder / "zoo.cfg"
    lines = [line for line in path.read_text().splitlines() if "maxSession" not in line]
    path.write_text("\n".join([*lines, f"maxSessionTimeout={seconds * 1000}", ""]))
    SERVER[1].start()
    SERVER.wait()


def is_connected(count=1):
    return SERVER[1].word("cons").count("sid=") == count


def stop(holder):
    """Suspend it, so that it hears nothing any more; returns its deadline."""
    _, deadline, _ = holder.belief()
    holder.process.send_signal(signal.SIGSTOP)
    return deadline


def check(t, old, new, deadline):
    grant, _ = new.until_says("held")
    print(f"# deadline {grant - deadline:.2f} s before the next grant")
    t.true(deadline < grant, f"two holders for {deadline - grant:.2f} s")
    old.process.send_signal(signal.SIGCONT)
    t.equal(old.until_says("lost")[2], "HF_ELOST", "release")
    t.equal(new.release(), "0", "release")


@case
def holder_stops_in_time_with_a_shorter_timeout(t):
    """The leader uses the new timeout from the moment we connect."""
    allow(LONG)
    old = Holder(t, "hold", url(SERVER, LONG), "shorter")
    old.until_says("held")
    allow(SHORT)
    t.until("the session is on the new server", is_connected)
    new = Holder(t, "hold", url(SERVER, LONG), "shorter")
    t.until("both are there", lambda: is_connected(2))
    check(t, old, new, stop(old))


@case
def holder_stops_in_time_with_a_longer_timeout(t):
    """The next leader uses the timeout that the session was created with."""
    allow(SHORT)
    old = Holder(t, "hold", url(SERVER, LONG), "longer")
    old.until_says("held")
    allow(LONG)
    t.until("the session is on the new server", is_connected)
    time.sleep(1)  # some heartbeats
    deadline = stop(old)
    allow(LONG)
    check(t, old, Holder(t, "hold", url(SERVER, LONG), "longer"), deadline)


if __name__ == "__main__":
    with store("zk"), zookeeper.standalone(tick=200) as SERVER:
        hf.main()
