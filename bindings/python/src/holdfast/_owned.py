"""Pointers that the library returned, and when they are freed.

Threads share clients and locks, and one may close what another is using.  So a pointer of the library
is an object here, and calls get that object: it is the `_as_parameter_` of a client, a handle or an
election.  ctypes keeps a reference to it during the call.  A thread that closes something only
replaces the object; later calls get NULL, which the library refuses.  The pointer is freed when the
last reference to the object is gone.

For that no local variable may refer to the object: local variables live on in the traceback of an
exception, and the object would outlive its client, or make close() wait.
"""
from __future__ import annotations

import ctypes
import time
import weakref
from typing import Any, Callable, Optional


class Owned(ctypes.c_void_p):
    """A pointer that the library returned.  `needs` is freed after it."""
    needs: Any = None


NOTHING = ctypes.c_void_p()


class _Finalizer(weakref.ref):  # type: ignore[type-arg]
    """Calls a function of the library when the object is gone, with its address."""
    __slots__ = ("_as_parameter_",)
    _as_parameter_: ctypes.c_void_p


_finalizers: dict[int, _Finalizer] = {}  # by address, which is reused after it was freed


def free_with(owner: Any, free: Any) -> None:
    """Free the pointer by a function of the library when nothing refers to it any more.  That runs no
    line of Python, so no signal handler can interrupt it, and it may happen anywhere, even in a
    reference cycle."""
    address = owner._as_parameter_.value or 0
    finalizer = _Finalizer(owner._as_parameter_, free)
    finalizer._as_parameter_ = ctypes.c_void_p(address)
    _finalizers[address] = finalizer


def wait_until_gone(owned: Callable[[], Optional[Owned]], limit: float,
                    rouse: Callable[[], None]) -> bool:
    """Wait until no call uses it.  `rouse` ends calls that wait; since one may be just about to begin,
    it is called repeatedly."""
    end = time.monotonic() + limit
    pause = 0.0005
    while owned() is not None:
        if time.monotonic() > end:
            return False
        rouse()
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return True
