"""What the library has made for us, and when it is freed.

Threads share clients and locks, and any of them may close what another is using.  So a pointer of
the library is an object here, and a call is given that object: a client, a handle or an election,
whose `_as_parameter_` it is.  ctypes keeps it until the call is over, and Python counts who refers
to it.  Who closes something only takes the object away; the next call is given NULL, which the
library refuses.  What it points to is freed when the last reference is gone.

For that the object must be in no local variable: those live on in the traceback of an exception, and
the object would outlive what it needs, or make close() wait for it.
"""
from __future__ import annotations

import ctypes
import time
import weakref
from typing import Any, Callable, Optional


class Owned(ctypes.c_void_p):
    """A pointer to something that the library made.  `needs` is freed after it."""
    needs: Any = None


NOTHING = ctypes.c_void_p()


class _Grave(weakref.ref):  # type: ignore[type-arg]
    """Called when the object is gone, and handed to the library for it."""
    __slots__ = ("_as_parameter_",)
    _as_parameter_: ctypes.c_void_p


_graves: dict[int, _Grave] = {}  # by address: a later one takes the place of one that is freed


def free_with(owner: Any, free: Any) -> None:
    """Free what this is of by a function of the library when nothing refers to it any more.  No line
    of Python is run for that: so no signal handler can get in between, and it may happen anywhere,
    also in a reference cycle."""
    address = owner._as_parameter_.value or 0
    grave = _Grave(owner._as_parameter_, free)
    grave._as_parameter_ = ctypes.c_void_p(address)
    _graves[address] = grave


def wait_until_gone(owned: Callable[[], Optional[Owned]], limit: float,
                    rouse: Callable[[], None]) -> bool:
    """Until no call uses it: `rouse` ends those that wait.  One may be just about to begin, so
    they are roused again and again."""
    end = time.monotonic() + limit
    pause = 0.0005
    while owned() is not None:
        if time.monotonic() > end:
            return False
        rouse()
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return True
