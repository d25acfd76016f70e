"""The end of a `with` block, as one call of the library."""
from __future__ import annotations

import ctypes
import types
from typing import TYPE_CHECKING, Any, Optional

from . import _c
from ._errors import HoldfastError, tell_beside

if TYPE_CHECKING:
    from ._base import BaseLock


def _left(result: int, _function: Any, arguments: tuple[Any, ...]) -> None:
    """After the library has released it: tell how that went.  LockLost is raised only if the body
    raised nothing: what it raised matters more, and gets a note."""
    handle, lock, _kind, error, _trace = arguments
    try:
        handle.client._check(result)
    except HoldfastError as late:
        if error is None:
            raise
        tell_beside(error, f"lock {lock.name!r}: {late}")


# hf_release() with the arguments of __exit__() behind the handle, which C does not look at.
leave = _c.lib["hf_release"]
leave.restype, leave.argtypes = ctypes.c_int, [_c.Pointer, *[ctypes.py_object] * 4]
leave.errcheck = _left  # type: ignore[assignment]


class Exit:
    """__exit__() as one call of the library.  A method of Python's could be interrupted in its first
    step, by a signal handler that raises, and the lock would stay held.  `with` asks for this
    before it calls __enter__()."""

    def __get__(self, lock: Any, _owner: Any = None) -> Any:
        return self if lock is None else lock._way_out()

    def __call__(self, lock: BaseLock, *arguments: Any) -> None:  # for contextlib.ExitStack
        lock._way_out()(*arguments)


class Acquired:
    """What acquire() returns: `with lock.acquire(timeout=1):` releases it at the end."""

    def __init__(self, lock: BaseLock) -> None:
        self.lock = lock

    def __enter__(self) -> BaseLock:
        return self.lock

    def _way_out(self) -> Any:
        return self.lock._way_out()

    if TYPE_CHECKING:
        def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                     trace: Optional[types.TracebackType]) -> None: ...
    else:
        __exit__ = Exit()
