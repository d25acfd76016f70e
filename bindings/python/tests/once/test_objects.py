"""Lock objects shared by threads, and the end of the interpreter."""
import functools
import gc
import os
import subprocess
import sys
import threading
import time

import pytest

import holdfast


def in_thread(function):
    """Call a function in another thread; return its result or exception."""
    said = []

    def run():
        try:
            said.append(function())
        except Exception as error:
            said.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return said[0]


def test_other_threads_may_read_but_not_release():
    with holdfast.Lock("threads") as lock:
        assert in_thread(lambda: lock.token) == lock.token
        assert in_thread(lock.ensure_held) is None
        assert isinstance(in_thread(lock.release), holdfast.NotHeld)
        assert isinstance(in_thread(lambda: lock.acquire(blocking=False)), holdfast.LockBusy)
        assert lock.is_held
    lock = holdfast.Lock("threads", any_thread=True)
    lock.acquire()
    assert in_thread(lock.release) is None
    assert not lock.is_held


@pytest.mark.parametrize("lock", [holdfast.ReadLock("readers"), holdfast.Semaphore("slots", 4)])
def test_threads_share(lock):
    """All are inside at the same time, or the barrier breaks."""
    barrier = threading.Barrier(4)
    tokens = []

    def work():
        for _ in range(3):
            with lock:
                barrier.wait(30)
                tokens.append(lock.token)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tokens) == 12 and not lock.is_held
    del thread, threads
    gc.collect()
    assert not lock._handles()  # they went with their threads


def test_cancel_ends_waits():
    with holdfast.Client() as client, holdfast.Lock("canceled"):
        waiting = holdfast.Lock("canceled", client=client)
        timer = threading.Timer(0.1, waiting.cancel)
        timer.start()
        with pytest.raises(holdfast.LockCanceled):
            waiting.acquire(timeout=30)
        timer.join()


def test_close_ends_waits():
    client = holdfast.Client()
    with holdfast.Lock("closed"):
        lock = holdfast.Lock("closed", client=client)
        said = []
        thread = threading.Thread(target=lambda: said.append(in_thread(lock.acquire)))
        thread.start()
        while len(holdfast.inspect("closed")) < 2:
            time.sleep(0.01)
        client.close()
        thread.join()
    assert isinstance(said[0], holdfast.LockCanceled)
    with pytest.raises(holdfast.InvalidArgument, match="closed"):
        lock.acquire()
    client.close()
    assert client.closed and repr(client) == "<holdfast.Client closed>"


def test_an_empty_url_is_refused(monkeypatch):
    with pytest.raises(holdfast.InvalidArgument, match="the store URL is empty"):
        holdfast.Client("")
    with pytest.raises(holdfast.InvalidArgument, match="empty"):
        holdfast.Lock("a", url="").acquire()
    monkeypatch.setenv("HOLDFAST_URL", "")
    with pytest.raises(holdfast.InvalidArgument, match="HOLDFAST_URL is empty"):
        holdfast.Client()


def test_decorator_keeps_name_and_value():
    lock = holdfast.Lock("decorated")

    @lock
    def double(value: int) -> int:
        """Twice as much."""
        assert lock.is_held
        return 2 * value if value > 10 else double(11)  # it may come again

    assert double(3) == 22 and double.__doc__ == "Twice as much." and not lock.is_held


def test_decorator_refuses_generators_and_coroutines():
    lock = holdfast.Lock("later")

    def numbers():
        yield 1

    async def later_numbers():
        yield 1

    async def later():
        raise AssertionError("it must not begin")

    class Later:
        def __call__(self):
            yield 1

    for function in (numbers, later_numbers, functools.partial(numbers), Later(), Later().__call__):
        with pytest.raises(TypeError, match="generator"):
            lock(function)
    for function in (lambda: later(), lambda: numbers(), lambda: later_numbers()):
        with pytest.raises(TypeError, match="without lock 'later'"):
            lock(function)()
        assert not lock.is_held


def test_asked_each_time():
    reasons, heard = [], threading.Event()

    def on_asked(lock):
        reasons.append(lock.asked)
        heard.set()

    with holdfast.Lock("asked", on_asked=on_asked):
        for reason in ("first", "second", "third"):
            heard.clear()
            holdfast.ask("asked", reason)
            assert heard.wait(20)
    assert reasons == ["first", "second", "third"]


def test_exceptions_in_callbacks(monkeypatch):
    caught = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda args: caught.set())

    def fail(_lock):
        raise RuntimeError("mine")

    with pytest.raises(holdfast.LockLost):
        with holdfast.Lock("failing", on_lost=fail) as lock:
            holdfast.break_("failing", lock.token)
            assert caught.wait(30)


END = """
import holdfast, threading, sys
lock = holdfast.Lock("exit")
lock.acquire()
thread = threading.Thread(target=holdfast.Lock("exit").acquire, daemon=True)
thread.start()
election = holdfast.Election("exit-leader", on_elected=print)
election.wait_to_lead()
while len(holdfast.inspect("exit")) < 2:
    pass
"""


def test_a_client_that_goes_with_its_last_lock(tmp_path):
    """The lock has the last reference to the client, or the only one; in any order."""
    url = f"sqlite:{tmp_path}/last.db"
    script = """if True:
        import holdfast, sys, time
        url = sys.argv[1]
        with holdfast.Lock("a", client=holdfast.Client(url)) as lock:
            pass
        lock.acquire()
        del lock
        def local(first):
            client = holdfast.Client(url)
            lock = holdfast.Lock("b", client=client)
            lock.acquire()
            if first:
                del client, lock
        for first in (True, False, True):
            local(first)
        end = time.monotonic() + 20
        while holdfast.inspect(url=url) and time.monotonic() < end:
            time.sleep(0.01)
        print(holdfast.inspect(url=url))
        """
    done = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n" and done.stderr == ""


def test_statistics_of_a_client(tmp_path):
    with holdfast.Client(f"sqlite:{tmp_path}/counted.db") as client:
        for _ in range(2):
            with holdfast.Lock("a", client=client):
                pass
        lock = holdfast.Lock("a", client=client)
        lock.acquire()
        assert isinstance(in_thread(lambda: holdfast.Lock("a", timeout=0, client=client).acquire()), holdfast.LockBusy)
        holdfast.break_("a", lock.token, client=client)
        with pytest.raises(holdfast.LockLost):
            lock.release()
        counts = client.stats
        assert (counts.acquired, counts.released, counts.lost, counts.broken, counts.busy) == (3, 2, 1, 1, 1)
        assert counts.connected == 1 and counts.sessions_lost == 0
        assert counts.least_left == counts.wait.buckets[-1][0] == float("inf")
        for histogram in (counts.wait, counts.hold):
            assert histogram.count == histogram.buckets[-1][1] == 3
            assert histogram.longest <= histogram.total
        limit = min(limit for limit, below in counts.wait.buckets if below == 3)
        assert limit / 2 <= counts.wait.longest < limit
    with pytest.raises(holdfast.HoldfastError):
        client.stats


def test_interpreter_ends():
    """With a lock held, a daemon thread that waits, and an election."""
    done = subprocess.run([sys.executable, "-c", END], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Fatal" not in done.stderr
    assert holdfast.inspect("exit") == [] and holdfast.inspect("exit-leader") == []


def test_bad_arguments():
    for make in (lambda: holdfast.Lock("a/b").acquire(), lambda: holdfast.Lock("a\0b").acquire(),
                 lambda: holdfast.Lock("").acquire(), lambda: holdfast.Client("what://"),
                 lambda: holdfast.Lock("x", float("nan")),
                 lambda: holdfast.Semaphore("x", 0).acquire(),
                 lambda: holdfast.Semaphore("x", 2**33).acquire(),
                 lambda: holdfast.Semaphore("x", -1).acquire(),
                 lambda: holdfast.Lock("x", max_waiters=2**32).acquire(),
                 lambda: holdfast.Lock("x", max_waiters=-1).acquire()):
        with pytest.raises((holdfast.InvalidArgument, holdfast.Unsupported)):
            make()
    with pytest.raises(holdfast.Unsupported, match="what"):
        holdfast.load("what://")
    with pytest.raises(TypeError):
        holdfast.Lock("x", url="memory:", client=holdfast.shared_client())


def test_errors_say_what_to_do():
    with pytest.raises(holdfast.StoreDown) as caught:
        holdfast.Lock("x", url="redis://127.0.0.1:1").acquire(timeout=0)
    assert "127.0.0.1" in str(caught.value) and isinstance(caught.value, ConnectionError)
    assert caught.value.codename == "HF_EDOWN" and caught.value.retryable


def test_missing_library():
    for value, text in (("/nowhere.so", "/nowhere.so"), ("", "libholdfast0.1")):
        done = subprocess.run([sys.executable, "-c", "import holdfast"], capture_output=True,
                              text=True, env=os.environ | {"HOLDFAST_LIBRARY": value})
        installed = value == "" and done.returncode == 0
        assert installed or "ImportError" in done.stderr and text in done.stderr


def test_older_library(tmp_path):
    """A library that lacks a function fails when it is loaded, not when the function is called."""
    source = tmp_path / "older.c"
    source.write_text('const char *hf_version(void) { return "0.0.9"; }\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "older.so", source], check=True)
    done = subprocess.run([sys.executable, "-c", "import holdfast"], capture_output=True, text=True,
                          env=os.environ | {"HOLDFAST_LIBRARY": str(tmp_path / "older.so")})
    assert "ImportError" in done.stderr and "0.0.9, which is older" in done.stderr
