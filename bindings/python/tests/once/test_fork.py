"""Forked children of a process that has locks, and pickling."""
import os
import pickle
import subprocess
import sys

import pytest

import holdfast


def run(code):
    """In a separate process, since it forks."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True,
                          text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split()


def test_held_by_the_parent():
    assert run("""
import holdfast, os, sys
lock = holdfast.Lock("forked")
with lock:
    if os.fork() == 0:
        for act in (lambda: lock.token, lock.release, lock.acquire, lock.ensure_held,
                    lambda: lock.left, lambda: lock.client.url and None):
            try:
                act()
            except holdfast.ForkedError as error:
                print("refused", end=" ", flush=True)
        try:
            holdfast.Lock("forked").acquire(blocking=False)
        except holdfast.LockBusy:
            print("busy", end=" ", flush=True)
        os._exit(0)
    os.wait()
    lock.ensure_held()
    print("held")
""") == [*["refused"] * 5, "busy", "held"]


def test_free_when_forked():
    assert run("""
import holdfast, os
lock = holdfast.Lock("forked")
with lock:
    pass
if os.fork() == 0:
    with lock:
        lock.ensure_held()
        print("child", flush=True)
    os._exit(0)
os.wait()
with lock:
    print("parent")
""") == ["child", "parent"]


def test_leaving_the_block_in_the_child():
    assert run("""
import holdfast, os
try:
    with holdfast.Lock("forked") as lock:
        child = os.fork()
        if child:
            os.wait()
except holdfast.ForkedError:
    print("child", flush=True)
    os._exit(0)
print("parent")
""") == ["child", "parent"]


def test_client_of_the_parent():
    assert run("""
import holdfast, os
with holdfast.Client() as client:
    if os.fork() == 0:
        try:
            holdfast.inspect(client=client)
        except holdfast.ForkedError:
            print("refused", flush=True)
        client.close()
        os._exit(0)
    os.wait()
    print(len(holdfast.inspect(client=client)))
""") == ["refused", "0"]


def _try(lock):
    try:
        with lock:
            return os.getpid()
    except holdfast.LockBusy:
        return "busy"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method, tmp_path):
    """Workers get a lock as an argument; each opens a client of its own."""
    code = f"""
import holdfast, multiprocessing, os, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_fork import _try
if __name__ == "__main__":
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        lock = holdfast.Lock("pool", timeout=30)
        print(len(set(pool.map(_try, [lock] * 20, chunksize=5)) & {{"busy", os.getpid()}}))
        with holdfast.Lock("pool"):
            print(*set(pool.map(_try, [holdfast.Lock("pool", 0)] * 4)))
        pool.close()
        pool.join()
"""
    program = tmp_path / "program.py"
    program.write_text(code)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["0", "busy"], "")


def test_pickle():
    lock = pickle.loads(pickle.dumps(holdfast.Semaphore("pickled", 3, 5.0, weight=2, note="hi")))
    assert (lock.name, lock.timeout, lock._plan.capacity) == ("pickled", 5.0, 3)
    with lock:
        with pytest.raises(TypeError, match="is held"):
            pickle.dumps(lock)
    with holdfast.Client() as client:
        with pytest.raises(TypeError, match="client of its own"):
            pickle.dumps(holdfast.Lock("pickled", client=client))
        with pytest.raises(TypeError):
            pickle.dumps(client)
    error = pickle.loads(pickle.dumps(holdfast.LockTimeout(-4, "too late")))
    assert (type(error), error.code, str(error)) == (holdfast.LockTimeout, -4, "too late")


