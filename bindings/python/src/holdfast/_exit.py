"""The end of a `with` block, as one call of the library."""
from __future__ import annotations

import ctypes
import types
from typing import TYPE_CHECKING, Any, Optional

from . import _c
from ._errors import HoldfastError, add_note

if TYPE_CHECKING:
    from ._base import BaseLock


def _left(result: int, _function: Any, arguments: tuple[Any, ...]) -> None:
    """After the release: raise LockLost if the lock was lost.  If the body raised an exception, that
    one matters more, and gets a note instead."""
    handle, lock, _kind, error, _trace = arguments
    try:
        handle.client._check(result)
    except HoldfastError as late:
        if error is None:
            raise
        add_note(error, f"lock {lock.name!r}: {late}")


# hf_release() with the arguments of __exit__() after the handle; C ignores them.
leave = _c.lib["hf_release"]
leave.restype, leave.argtypes = ctypes.c_int, [_c.Pointer, *[ctypes.py_object] * 4]
leave.errcheck = _left  # type: ignore[assignment]


class Exit:
    """__exit__() as one call of the library.  A signal handler that raises could interrupt a Python
    method in its first step, and the lock would stay held.  `with` gets this object before it calls
    __enter__()."""

    def __get__(self, lock: Any, _owner: Any = None) -> Any:
        return self if lock is None else lock._way_out()

    def __call__(self, lock: BaseLock, *arguments: Any) -> None:  # for contextlib.ExitStack
        lock._way_out()(*arguments)


class Acquired:
    """The result of acquire(): `with lock.acquire(timeout=1):` releases the lock at the end."""

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
