"""Waiting for a lock so that Ctrl-C ends it at once.

Python runs signal handlers in the main thread only, and only between two of its own steps: not
while that thread is in a call of the library.  So the main thread waits there for a moment, which
is enough for a lock that is free.  After that a helper thread waits in its name, and the main
thread waits for the helper in Python, where signals are handled.  Nobody polls.
"""
from __future__ import annotations

import threading
import time

from . import _c
from ._handle import Handle

MOMENT = 20  # milliseconds


def acquire_interruptibly(handle: Handle, limit: int) -> tuple[int, str]:
    """hf_acquire(), and its message if that is for another thread.  If a signal handler raises,
    the lock is not kept."""
    if threading.get_ident() != threading.main_thread().ident:
        return _acquire(handle, limit), ""
    start = time.monotonic()
    r = _acquire(handle, limit if 0 <= limit <= MOMENT else MOMENT)
    if r not in (_c.ETIMEOUT, _c.EDOWN) or 0 <= limit <= MOMENT:
        return r, ""
    if limit > 0:
        limit = max(1, limit - round((time.monotonic() - start) * 1000))
    return _acquire_by_helper(handle, limit)


def _acquire(handle: Handle, limit: int) -> int:
    result: list[int] = []
    try:
        # In one step: no handler runs between the call and the keeping of its result.
        result.extend(map(_c.lib.hf_acquire, (handle.pointer,), (limit,)))
    except BaseException:
        if result == [0]:
            _c.lib.hf_release(handle.pointer)
        raise
    return result[0]


def _acquire_by_helper(handle: Handle, limit: int) -> tuple[int, str]:
    result: list[int] = []
    message = ""
    done = threading.Event()
    owner = _c.lib.hf_acting_for()

    def wait() -> None:
        nonlocal message
        _c.lib.hf_act_for(owner)
        r = _c.lib.hf_acquire(handle.pointer, limit)
        client = handle.client._pointer
        if r < 0 and client:  # the library tells each thread of its own failures
            message = _c.text(_c.lib.hf_errmsg(client))
        result.append(r)
        done.set()

    threading.Thread(target=wait, name="holdfast-wait", daemon=True).start()
    try:
        done.wait()
    except BaseException:
        _end(handle, done)
        if result == [0]:
            _c.lib.hf_release(handle.pointer)
        raise
    return result[0], message


def _end(handle: Handle, done: threading.Event) -> None:
    """End the helper's wait, whatever else comes: it leaves its place in line."""
    while not done.is_set():
        try:
            handle._cancel()
            done.wait(1.0)
        except BaseException:
            continue  # one who presses Ctrl-C twice wants the same twice
