"""Holders that are killed or stopped, and waiters that are interrupted."""
import os
import signal
import time

import pytest

import holdfast

HOLD = """
with holdfast.Client(sys.argv[1], guardian=sys.argv[3] if len(sys.argv) > 3 else False) as client:
    try:
        with holdfast.Lock(sys.argv[2], client=client):
            print("held")
            input()
    except holdfast.LockLost as error:
        print("lost")
"""
WAIT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it behind &
signal.signal(signal.SIGUSR1, lambda *_: print("heard"))
with holdfast.Client(sys.argv[1]) as client:
    try:
        with holdfast.Lock(sys.argv[2], client=client):
            print("held")
    except KeyboardInterrupt:
        print("interrupted")
        input()
"""


@pytest.fixture(autouse=True)
def not_in_memory(url):
    if url.startswith("memory:"):
        pytest.skip("other processes do not see it")


def line(name, client, count):
    """The line when it has that many places."""
    end = time.monotonic() + 30
    while len(found := holdfast.inspect(name, client=client)) != count:
        assert time.monotonic() < end, found
        time.sleep(0.01)
    return found


def test_killed(url, client, name, script):
    holder = script(HOLD, url, name, os.environ["HOLDFAST"])
    assert holder.hear() == "held"
    with pytest.raises(holdfast.LockBusy):
        holdfast.Lock(name, client=client).acquire(blocking=False)
    os.kill(holder.pid, signal.SIGKILL)
    with holdfast.Lock(name, client=client, timeout=30):
        pass


def test_stopped_past_the_lease(url, client, name, script):
    if url.startswith("sqlite:"):
        pytest.skip("in a file a stopped holder keeps its lock")
    holder = script(HOLD, url, name)
    assert holder.hear() == "held"
    os.kill(holder.pid, signal.SIGSTOP)
    with holdfast.Lock(name, client=client, timeout=60):
        os.kill(holder.pid, signal.SIGCONT)
        holder.tell()
        assert holder.hear() == "lost"
    assert holder.end() == 0


def test_interrupted(url, client, name, script):
    with holdfast.Lock(name, client=client):
        waiter = script(WAIT, url, name)
        place = _settled(name, client)
        os.kill(waiter.pid, signal.SIGUSR1)
        assert waiter.hear() == "heard"  # and it waits on, in the same place
        assert line(name, client, 2)[1] == place
        os.kill(waiter.pid, signal.SIGINT)
        assert waiter.hear() == "interrupted"
        assert len(line(name, client, 1)) == 1
    with holdfast.Lock(name, client=client, timeout=30):
        pass
    waiter.tell()
    assert waiter.end() == 0


def _settled(name, client):
    """The second place, when it is the one that stays: a waiter comes once more after a moment."""
    place = line(name, client, 2)[1]
    since = time.monotonic()
    while time.monotonic() < since + 0.3:
        if (now := line(name, client, 2)[1]) != place:
            place, since = now, time.monotonic()
        time.sleep(0.01)
    return place
