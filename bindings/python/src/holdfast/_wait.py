"""Waiting for a lock so that Ctrl-C ends it at once.

Python runs signal handlers only in the main thread, and only between two steps of Python: not while
that thread is in a call of the library.  So the main thread calls the library with a short time limit,
which is enough for a lock that is free.  After that a helper thread waits on its behalf, and the main
thread waits for the helper in Python, where signals are handled.  No thread polls.

A handler may raise after any step.  So the result of the library is stored in the same step as the
call: list.extend(map(...)) runs no line of Python.  The function that began the wait reads it there,
and releases a lock that nobody will use.
"""
from __future__ import annotations

import threading
import time

from . import _c
from ._errors import DeadlockError
from ._handle import Handle

MOMENT = 20  # milliseconds

Results = list[int]  # of the calls of one acquire(); 0: granted


def acquire_interruptibly(handle: Handle, limit: int, results: Results) -> str:
    """hf_acquire().  Returns its message if the failure was in another thread."""
    if threading.get_ident() != threading.main_thread().ident:
        _acquire(handle, limit, results)
        return ""
    if handle.helped:
        raise DeadlockError(_c.EDEADLOCK, "a signal handler cannot acquire the lock for which the "
                                          "main thread waits: it would wait for itself")
    start = time.monotonic()
    _acquire(handle, limit if 0 <= limit <= MOMENT else MOMENT, results)
    if results[-1] not in (_c.ETIMEOUT, _c.EDOWN) or 0 <= limit <= MOMENT:
        return ""
    if limit > 0:
        limit = max(1, limit - round((time.monotonic() - start) * 1000))
    return _acquire_by_helper(handle, limit, results)


def give_back(handle: Handle, results: Results) -> None:
    """After an acquire() that raised: release the lock.  A handler may raise here, too."""
    given: Results = []
    while 0 in results and not given:
        try:
            given.extend(map(_c.lib.hf_release, (handle,)))
        except BaseException:
            continue  # a second Ctrl-C: release it all the same


def _acquire(handle: Handle, limit: int, results: Results) -> None:
    results.extend(map(_c.lib.hf_acquire, (handle,), (limit,)))


def _acquire_by_helper(handle: Handle, limit: int, results: Results) -> str:
    message = ""
    done = threading.Event()
    owner = _c.lib.hf_acting_for()

    def wait() -> None:
        nonlocal message
        _c.lib.hf_act_for(owner)
        _acquire(handle, limit, results)
        if results[-1] < 0 and not handle.client.closed:  # hf_errmsg() of this thread
            message = _c.text(_c.lib.hf_errmsg(handle.client))
        done.set()

    handle.helped = True
    try:
        threading.Thread(target=wait, name="holdfast-wait", daemon=True).start()
        done.wait()
    except BaseException:
        _end(handle, done)
        raise
    finally:
        handle.helped = False
    return message


def _end(handle: Handle, done: threading.Event) -> None:
    """End the wait of the helper thread, even if handlers raise: it must give up its place."""
    while not done.is_set():
        try:
            handle._cancel()
            done.wait(1.0)
        except BaseException:
            continue
