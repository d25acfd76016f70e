"""Waiting for a lock so that Ctrl-C ends it at once.

Python runs signal handlers in the main thread only, and only between two of its own steps: not
while that thread is in a call of the library.  So the main thread waits there for a moment, which
is enough for a lock that is free.  After that a helper thread waits in its name, and the main
thread waits for the helper in Python, where signals are handled.  Nobody polls.

A handler may raise, after any step.  So what the library said is kept in the same step as the call:
list.extend(map(...)) runs no line of Python.  Whoever began the wait looks there, and gives back
what nobody will use.
"""
from __future__ import annotations

import threading
import time

from . import _c
from ._errors import DeadlockError
from ._handle import Handle

MOMENT = 20  # milliseconds

Said = list[int]  # what the calls of one acquire() returned; 0: it was granted


def acquire_interruptibly(handle: Handle, limit: int, said: Said) -> str:
    """hf_acquire(), and its message if that is for another thread."""
    if threading.get_ident() != threading.main_thread().ident:
        _acquire(handle, limit, said)
        return ""
    if handle.helped:
        raise DeadlockError(_c.EDEADLOCK, "a signal handler cannot take the lock for which the "
                                          "main thread waits: that would wait for itself")
    start = time.monotonic()
    _acquire(handle, limit if 0 <= limit <= MOMENT else MOMENT, said)
    if said[-1] not in (_c.ETIMEOUT, _c.EDOWN) or 0 <= limit <= MOMENT:
        return ""
    if limit > 0:
        limit = max(1, limit - round((time.monotonic() - start) * 1000))
    return _acquire_by_helper(handle, limit, said)


def give_back(handle: Handle, said: Said) -> None:
    """After an acquire() that raised: nothing is kept.  A handler may raise here, too."""
    given: Said = []
    while 0 in said and not given:
        try:
            given.extend(map(_c.lib.hf_release, (handle,)))
        except BaseException:
            continue  # one who presses Ctrl-C twice wants the same twice


def _acquire(handle: Handle, limit: int, said: Said) -> None:
    said.extend(map(_c.lib.hf_acquire, (handle,), (limit,)))


def _acquire_by_helper(handle: Handle, limit: int, said: Said) -> str:
    message = ""
    done = threading.Event()
    owner = _c.lib.hf_acting_for()

    def wait() -> None:
        nonlocal message
        _c.lib.hf_act_for(owner)
        _acquire(handle, limit, said)
        if said[-1] < 0 and not handle.client.closed:  # each thread is told of its own failures
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
    """End the helper's wait, whatever else comes: it leaves its place in line."""
    while not done.is_set():
        try:
            handle._cancel()
            done.wait(1.0)
        except BaseException:
            continue
