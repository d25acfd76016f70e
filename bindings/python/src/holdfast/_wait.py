"""Waiting for a lock so that Ctrl-C ends it."""
from __future__ import annotations

from . import _c
from ._handle import Handle


def acquire_interruptibly(handle: Handle, limit: int) -> int:
    """hf_acquire().  If a signal handler raises, the lock is not kept."""
    result: list[int] = []
    try:
        # In one step: no handler runs between the call and the keeping of its result.
        result.extend(map(_c.lib.hf_acquire, (handle.pointer,), (limit,)))
    except BaseException:
        if result == [0]:
            _c.lib.hf_release(handle.pointer)
        raise
    return result[0]
