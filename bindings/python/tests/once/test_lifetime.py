"""Lifetimes: closing, lost references, and signal handlers that raise."""
import contextlib
import gc
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest

import holdfast


def run(code, *args, limit=120, **environment):
    """In a separate process, since it may crash or hang."""
    # From 3.12 on Python warns of every fork beside threads.
    done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c",
                           f"import holdfast, sys\n{code}", *map(str, args)],
                          capture_output=True, text=True, timeout=limit,
                          env=os.environ | environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split()


def until_free(name, **how):
    """Wait until the lock is released, 20 s at most."""
    end = time.monotonic() + 20
    while holdfast.inspect(name, **how):
        assert time.monotonic() < end, "it is still held"
        time.sleep(0.01)


# ---- Closing ----------------------------------------------------------------------------------

CLOSE = """
import threading, time
sys.setswitchinterval(1e-5)
end, rounds = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    rounds += 1
    client = holdfast.Client("memory:close")
    lock = holdfast.Lock("lock", client=client)
    lock.acquire()
    election = holdfast.Election("election", client=client)
    go = True

    def look(ask):
        while go:
            try:
                ask()
            except holdfast.HoldfastError:
                pass

    asks = (lambda: lock.left, lambda: lock.token, lambda: election.leads,
            lambda: election.left, lambda: holdfast.inspect(client=client))
    threads = [threading.Thread(target=look, args=(ask,)) for ask in asks]
    for thread in threads:
        thread.start()
    time.sleep(0.005)
    client.close()
    go = False
    for thread in threads:
        thread.join()
print("fine", rounds > 3)
"""


def test_closed_while_other_threads_use_it():
    """With AddressSanitizer if there is such a build: reading freed memory rarely crashes."""
    library = os.environ["HOLDFAST_LIBRARY"]
    checked = pathlib.Path(library).parents[1] / "build-asan/libholdfast.so"
    if not checked.exists():
        assert run(CLOSE, 3) == ["fine", "True"]
        return
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True,
                             text=True).stdout.strip()
    assert run(CLOSE, 3, HOLDFAST_LIBRARY=str(checked), LD_PRELOAD=runtime,
               ASAN_OPTIONS="detect_leaks=0") == ["fine", "True"]


def test_kept_exceptions_do_not_keep_the_client():
    """Tracebacks contain local variables: close() must not wait for those."""
    client = holdfast.Client()
    kept, caught = [], None
    for fail in (lambda: holdfast.Lock("a/b", client=client).acquire(),
                 lambda: holdfast.Lock("x", client=client, max_waiters=-1).acquire(),
                 lambda: holdfast.Election("a/b", client=client),
                 lambda: holdfast.AllOf("a", "a/b", client=client).acquire(),
                 lambda: holdfast.inspect("a/b", client=client)):
        with pytest.raises(holdfast.InvalidArgument) as caught:
            fail()
        kept.append(caught)
    closing = threading.Thread(target=client.close, daemon=True)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()
    del kept, caught, fail
    gc.collect()  # and what they had is not freed twice


def test_release_after_the_client_was_closed():
    for on_lost in (None, print):
        client = holdfast.Client()
        lock = holdfast.Lock("closed", client=client, on_lost=on_lost)
        with pytest.raises(holdfast.InvalidArgument, match="closed"):
            with lock:
                client.close()
                assert not lock.is_held
        with holdfast.Lock("closed", timeout=20):
            pass


# ---- Forgetting -------------------------------------------------------------------------------

@pytest.mark.parametrize("callback", [None, print])
@pytest.mark.parametrize("cycle", [False, True])
def test_unreferenced_while_held(callback, cycle):
    class Job:
        pass

    job = Job()
    job.lock = holdfast.Lock("forgotten", on_lost=callback)
    job.me = job if cycle else None
    job.lock.acquire()
    assert len(holdfast.inspect("forgotten")) == 1
    del job
    gc.collect()
    until_free("forgotten")


def test_a_thread_that_ends_gives_up_its_place():
    read = holdfast.ReadLock("thread")
    thread = threading.Thread(target=read.acquire)
    thread.start()
    thread.join()
    del thread
    gc.collect()
    until_free("thread")


# ---- Signals ----------------------------------------------------------------------------------

SIGNALS = """
import random, signal, time
url, how = sys.argv[1:]
lock = holdfast.Lock("signals", timeout=5, url=url, on_lost=print if how == "watched" else None)
armed = False

class Boom(BaseException):
    pass

def handler(*_):
    if armed:
        raise Boom

signal.signal(signal.SIGALRM, handler)
with lock:
    pass
start = time.perf_counter()
for _ in range(50):
    with lock:
        pass
span = (time.perf_counter() - start) / 50 * 1.5
seed = random.randrange(2**32)
random.seed(seed)
booms, left = 0, []
end = time.monotonic() + 10
while booms < 120 and time.monotonic() < end:
    armed = True
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, span))
        with lock:
            if how == "nested":
                with lock:
                    pass
        armed = False
    except Boom:
        armed = False
        booms += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    if lock.is_held:
        left.append(booms)
        while lock.is_held:
            lock.release()
print(booms > 100, len(left), "seed", seed)
"""


@pytest.mark.parametrize("how", ["plain", "nested", "watched"])
@pytest.mark.parametrize("store", ["memory:signals", "sqlite:{}/signals.db"])
def test_a_handler_that_raises_leaves_nothing_held(how, store, tmp_path):
    assert run(SIGNALS, store.format(tmp_path), how)[:2] == ["True", "0"]


def test_a_handler_that_takes_the_same_lock():
    assert run("""
import faulthandler, signal, time
lock = holdfast.Semaphore("handler", 9, timeout=20, url="memory:handler")
inside, taken = False, 0

def handler(*_):
    global inside, taken
    if not inside:
        inside = True
        try:
            with lock:
                taken += 1
        except holdfast.DeadlockError:
            pass  # on a busy machine a helper was waiting for the main thread
        inside = False

faulthandler.dump_traceback_later(30, exit=True)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, .0007, .0007)
end = time.monotonic() + 10
while taken < 100 and time.monotonic() < end:
    with lock:
        pass
signal.setitimer(signal.ITIMER_REAL, 0)
print(taken > 10)
""") == ["True"]


def test_a_handler_cannot_wait_for_its_own_thread():
    """The main thread waits, and its handler wants the same lock."""
    assert run("""
import signal
held, said = holdfast.Lock("own"), []
held.acquire()
with holdfast.Client() as client:
    lock = holdfast.Lock("own", client=client, timeout=2)

    def handler(*_):
        try:
            lock.acquire()
        except holdfast.DeadlockError:
            print("refused", flush=True)

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, .5)
    try:
        lock.acquire()
    except holdfast.LockTimeout:
        print("late")
""") == ["refused", "late"]


def test_exit_stack():
    """It calls __exit__() of the class, as a function."""
    lock = holdfast.Lock("stack")
    with contextlib.ExitStack() as stack:
        assert stack.enter_context(lock) is lock and lock.is_held
    assert not lock.is_held
    with pytest.raises(KeyError):
        with contextlib.ExitStack() as stack:
            stack.enter_context(lock)
            raise KeyError
    assert not lock.is_held


# ---- Forking ----------------------------------------------------------------------------------

def test_a_child_that_exits_while_threads_of_its_parent_are_busy():
    assert run("""
import os, threading, time
sys.setswitchinterval(1e-6)
client = holdfast.Client("memory:busy")

def busy(number):
    lock = holdfast.Lock(f"busy{number}", client=client)
    while True:
        with lock:
            pass

for number in range(3):
    threading.Thread(target=busy, args=(number,), daemon=True).start()
time.sleep(.1)
for _ in range(100):
    child = os.fork()
    if child == 0:
        sys.exit(0)  # atexit runs
    end = time.monotonic() + 20
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            print("hangs", flush=True)
            os.kill(child, 9)
            os._exit(0)
        time.sleep(.001)
print("fine", flush=True)
os._exit(0)
""") == ["fine"]
