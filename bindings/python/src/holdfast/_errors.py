"""Exceptions: one class for each failure that a program may want to handle."""
from __future__ import annotations

import warnings
from typing import Any

from . import _c


class HoldfastError(Exception):
    """Base class.  `code` is the code of the library (-3), `codename` its name ("HF_EBUSY"); the text
    says what went wrong and what to do."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message or _c.text(_c.lib.hf_strerror(code))

    def __str__(self) -> str:
        return self.message

    @property
    def codename(self) -> str:
        return _c.text(_c.lib.hf_errname(self.code))

    @property
    def retryable(self) -> bool:
        """May the same call succeed later, unchanged?"""
        return bool(_c.lib.hf_err_retryable(self.code))


class LockTimeout(HoldfastError, TimeoutError):
    """The lock was not acquired within the time limit."""


class LockBusy(LockTimeout):
    """Somebody else has the lock, and you asked not to wait."""


class LockCanceled(HoldfastError):
    """Another thread called cancel()."""


class LockLost(HoldfastError):
    """The lock was yours, but not to the end: your work under it was not protected."""


class NotHeld(HoldfastError, RuntimeError):
    """You do not hold the lock, or another thread does, or it is held and must not be."""


class DeadlockError(LockTimeout, RuntimeError):
    """This thread would wait for itself, so no time limit would do."""


class StoreDown(HoldfastError, ConnectionError):
    """The store cannot be reached, or does not answer."""


class StoreDenied(HoldfastError, PermissionError):
    """The store refuses access: permissions, password."""


class ForkedError(HoldfastError, RuntimeError):
    """The parent process opened it.  Open a new one in the child."""


class InvalidArgument(HoldfastError, ValueError):
    """An argument makes no sense."""


class LockMismatch(HoldfastError):
    """Others use this name as another kind of lock."""


class NotFound(HoldfastError, LookupError):
    """The place or file does not exist (any more)."""


class StoreFull(HoldfastError):
    """No room in the store, or too many waiters."""


class Unsupported(HoldfastError, NotImplementedError):
    """Not built in, or the store cannot do this."""


_CLASSES: dict[int, type[HoldfastError]] = {
    _c.EINVAL: InvalidArgument,
    _c.EBUSY: LockBusy,
    _c.ETIMEOUT: LockTimeout,
    _c.ECANCELED: LockCanceled,
    _c.ELOST: LockLost,
    _c.EDOWN: StoreDown,
    _c.EDENIED: StoreDenied,
    _c.EFORK: ForkedError,
    _c.EOWNER: NotHeld,
    _c.ESTATE: NotHeld,
    _c.EMISMATCH: LockMismatch,
    _c.EFULL: StoreFull,
    _c.EUNSUPPORTED: Unsupported,
    _c.ENOTFOUND: NotFound,
    _c.EDEADLOCK: DeadlockError,
}


def error_of(code: int, client: Any = None, message: str = "") -> HoldfastError:
    """The exception for a code; with the text of the client's last failure, if there is one."""
    if code == _c.ENOMEM:
        raise MemoryError
    if client is not None and not message:
        message = _c.text(_c.lib.hf_errmsg(client))
    return _CLASSES.get(code, HoldfastError)(code, message)


def add_note(error: BaseException, text: str) -> None:
    """Attach a second, less important failure to an exception."""
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
