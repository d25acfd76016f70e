"""CPython's own tests of locks, run on ours.  Debian: libpython3.11-testsuite, and the like.

Ours raise where those of `threading` return False, and have names: the adapters here change that and
no more.  What does not fit stands in docs/python.md, with the reason.
"""
import itertools
import pathlib
import threading

import pytest

import holdfast

lock_tests = pytest.importorskip("test.lock_tests", reason="no test suite of CPython here")

DOCS = pathlib.Path(__file__).resolve().parents[4] / "docs/python.md"
URL = "memory:cpython"
numbers = itertools.count()

NOT_OURS = {
    "test_repr", "test_locked_repr", "test_at_fork_reinit", "LockTests.test_timeout",
    "RLockTests.test_timeout", "test_release_save_unacquired", "test_recursion_count",
    "test__is_owned",
    "ConditionTests.test_acquire", "BoundedSemaphoreTests.test_constructor",
}


def ours(kind):
    """A class of CPython's tests, without those that do not apply."""
    left_out = {name.split(".")[-1] for name in NOT_OURS
                if "." not in name or name.split(".")[0] == kind}
    base = getattr(lock_tests, kind)
    return type(kind, (base,), {name: None for name in left_out if hasattr(base, name)})


class Adapted:
    """Like threading: acquire() returns whether the lock was acquired."""

    def __init__(self, **how):
        self._lock = holdfast.Lock(f"lock{next(numbers)}", url=URL, **how)
        self.release, self.locked = self._lock.release, self._lock.locked

    def acquire(self, blocking=True, timeout=-1):
        try:
            return bool(self._lock.acquire(timeout, blocking=blocking))
        except holdfast.LockTimeout:
            return False

    def __enter__(self):
        return self._lock.__enter__()

    def __exit__(self, *what):
        return self._lock.__exit__(*what)


class Slots:
    """Our semaphore is one place in the queue; an object of threading has all slots."""

    def __init__(self, value=1):
        self._name, self._value, self._held = f"slots{next(numbers)}", value, []

    def acquire(self, blocking=True, timeout=None):
        if not blocking and timeout is not None:
            raise ValueError("a time limit, and not to wait")
        slot = holdfast.Semaphore(self._name, self._value, url=URL, any_thread=True)
        try:
            slot.acquire(timeout, blocking=blocking)
        except holdfast.LockTimeout:
            return False
        self._held.append(slot)
        return True

    def release(self, n=1):
        if not 0 < n <= len(self._held):
            raise ValueError("so many are not held")
        for _ in range(n):
            self._held.pop().release()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *what):
        self.release()


class TestLock(ours("LockTests")):
    locktype = staticmethod(lambda: Adapted(any_thread=True))


class TestRLock(ours("RLockTests")):
    locktype = staticmethod(Adapted)


class TestCondition(ours("ConditionTests")):
    condtype = staticmethod(lambda lock=None: threading.Condition(lock or Adapted(any_thread=True)))


class TestSemaphore(ours("BoundedSemaphoreTests")):
    semtype = staticmethod(Slots)


def test_differences_are_documented():
    text = DOCS.read_text()
    assert {name for name in NOT_OURS if f"`{name.split('.')[-1]}`" not in text} == set()
