"""Messages: what a wrong argument is, who holds a lock, and why nothing happens."""
import asyncio
import datetime
import pathlib
import socket
import subprocess
import sys
import threading

import pytest

import holdfast


@pytest.mark.parametrize("name", [None, b"a", 7, pathlib.Path("a")])
def test_a_name_is_a_string(name):
    for make in (holdfast.Lock, holdfast.Election, lambda name: holdfast.Semaphore(name, 2),
                 lambda name: holdfast.AllOf("a", name)):
        with pytest.raises(TypeError, match="string"):
            make(name)


@pytest.mark.parametrize("timeout", ["5", b"5", datetime.timedelta(seconds=1), [1]])
def test_a_time_limit_is_a_number(timeout, name):
    for call in (lambda: holdfast.Lock(name, timeout), lambda: holdfast.Lock(name).acquire(timeout),
                 lambda: holdfast.inspect(name, timeout=timeout),
                 lambda: holdfast.Election(name).wait_to_lead(timeout)):
        with pytest.raises(TypeError, match="number of seconds"):
            call()


def test_a_failure_names_the_holder_and_the_kind(url, name, script):
    holder = script("with holdfast.Lock(sys.argv[1], url=sys.argv[2]): print(1); input()", name, url)
    assert holder.hear() == "1"
    who = f"(pid {holder.pid}, "
    with pytest.raises(holdfast.LockBusy) as caught:
        holdfast.Lock(name, url=url).acquire(blocking=False)
    assert f'"{name}" is held by ' in str(caught.value) and who in str(caught.value)
    with pytest.raises(holdfast.LockTimeout) as caught:
        holdfast.Lock(name, 0.03, url=url).acquire()
    assert str(caught.value).startswith("gave up waiting: ") and who in str(caught.value)
    with pytest.raises(holdfast.LockMismatch) as caught:
        holdfast.Semaphore(name, 2, url=url).acquire()
    assert "as a mutex by" in str(caught.value) and who in str(caught.value)

    with pytest.raises(holdfast.LockTimeout) as caught:
        holdfast.AllOf(f"{name}-free", name, timeout=0.03, url=url).acquire()
    assert f'"{name}" is held by' in str(caught.value)

    async def of_tasks():
        for lock, kind in ((holdfast.Lock(name, 0.01, url=url), holdfast.LockTimeout),
                           (holdfast.Lock(name, 0, url=url), holdfast.LockBusy),
                           (holdfast.Semaphore(name, 2, url=url), holdfast.LockMismatch)):
            with pytest.raises(kind) as caught:
                await lock.acquire_async()
            assert who in str(caught.value)

    asyncio.run(of_tasks())
    with holdfast.Election(name, url=url) as election:
        with pytest.raises(holdfast.LockTimeout) as caught:
            election.wait_to_lead(0.01)
        assert who in str(caught.value)
    holder.tell()


def test_other_peoples_text_is_escaped(url, name):
    with holdfast.Client(url, command="\x1b[31mred\n\u202e") as other:
        with holdfast.Lock(name, client=other), pytest.raises(holdfast.LockBusy) as caught:
            holdfast.Lock(name, url=url).acquire(blocking=False)
    assert "red" in str(caught.value) and str(caught.value).isprintable()


def test_on_deposed_says_what_it_is_about(url, name):
    heard, told = [], threading.Event()

    def on_deposed(error):
        heard.append(error)
        told.set()

    with holdfast.Client(url) as other:
        with holdfast.Semaphore(name, 2, client=other):
            with holdfast.Election(name, url=url, on_deposed=on_deposed):
                assert told.wait(20)
        assert isinstance(heard[0], holdfast.LockMismatch) and "semaphore of 2" in str(heard[0])
        told.clear()
        with holdfast.Election(name, url=url, on_deposed=on_deposed) as election:
            election.wait_to_lead(20)
            holdfast.break_(name, election.token, client=other)
            assert told.wait(20)
    assert isinstance(heard[1], holdfast.LockLost) and name in str(heard[1])


def test_the_log_tells_of_an_interruption_once(caplog):
    later = []
    log = holdfast._link.LinkLog(lambda seconds, function: later.append(function))
    for _ in range(3):  # the reason changes
        log.change(holdfast._c.LINK_DOWN, "db1 cannot be reached")
    assert len(later) == 1
    log._since -= 1  # a second ago
    later.pop()()
    log.change(holdfast._c.LINK_DOWN, "db1 cannot be reached: no route")
    log.change(holdfast._c.LINK_UP, "")
    later.pop()()
    log.change(holdfast._c.LINK_DOWN, "db1 cannot be reached")  # for a moment
    log.change(holdfast._c.LINK_UP, "")
    later.pop()()
    assert [(record.name, record.levelname, record.message) for record in caplog.records] == [
        ("holdfast", "WARNING", "db1 cannot be reached; trying again"),
        ("holdfast", "WARNING", caplog.records[1].message)]
    assert caplog.records[1].message.startswith("the store can be reached again, after 1.")


SILENT = """
import asyncio, threading
async def of_tasks():
    await holdfast.Lock("a", url=sys.argv[1]).acquire_async()
if sys.argv[2] == "task":
    asyncio.run(of_tasks())
else:
    holdfast.Lock("a", url=sys.argv[1]).acquire()
"""


@pytest.mark.parametrize("how", ["thread", "task"])
def test_who_waits_without_a_limit_is_not_silent(how, tmp_path):
    with socket.socket() as unused:  # bound, but nobody listens
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-c", f"import holdfast, sys\n{SILENT}", f"redis://127.0.0.1:{port}", how],
            stderr=subprocess.PIPE, text=True)
        timer = threading.Timer(20, process.kill)
        timer.start()
        line = process.stderr.readline()
        timer.cancel()
        process.kill()
        process.communicate()
    assert f"127.0.0.1:{port}" in line and "cannot be reached" in line and "trying again" in line
