"""Locks for threads: Lock, ReadLock, WriteLock, Semaphore, Claim."""
from __future__ import annotations

from typing import Optional

from . import _c
from ._base import BaseLock, Callback
from ._client import Client
from ._handle import Plan


class Lock(BaseLock):
    """One holder at a time, first come first served.

    >>> with Lock("nightly-report", timeout=10) as lock:
    ...     lock.is_held
    True
    >>> @Lock("nightly-report")
    ... def report() -> str:
    ...     return "done"
    >>> report()
    'done'
    """

    _kind = "mutex"

    def __init__(self, name: str, timeout: Optional[float] = None, *, url: Optional[str] = None,
                 client: Optional[Client] = None, note: Optional[str] = None,
                 max_waiters: int = 0, any_thread: bool = False,
                 on_lost: Optional[Callback] = None,
                 on_asked: Optional[Callback] = None) -> None:
        plan = Plan(self._kind, name, note=note, max_waiters=max_waiters, any_thread=any_thread)
        super().__init__(plan, timeout, url, client, on_lost, on_asked)


class ReadLock(Lock):
    """Readers share, a writer is alone, first come first served.  A thread that holds the
    WriteLock may also acquire the ReadLock of the same name.

    >>> with ReadLock("prices"), ReadLock("prices"):
    ...     pass
    """

    _kind = "reader"


class WriteLock(Lock):
    """A writer is alone; see ReadLock.

    >>> with WriteLock("prices") as lock:
    ...     lock.downgrade()  # readers may join from here on
    """

    _kind = "writer"

    def downgrade(self) -> None:
        """Become a reader, in place: no other writer gets in between."""
        handle = self._held()
        handle.client._check(_c.lib.hf_downgrade(handle))


class Claim(Lock):
    """One holder at a time, and no queue: when the lock becomes free, any of those that want it may
    get it.

    >>> with Claim("nightly-report", timeout=0):
    ...     pass
    """

    _kind = "claim"


class Semaphore(BaseLock):
    """As many holders as there are slots; with weights that add up to that.

    >>> with Semaphore("gpu", 4) as gpu:
    ...     gpu.slot
    0
    """

    def __init__(self, name: str, slots: int, timeout: Optional[float] = None, *, weight: int = 1,
                 url: Optional[str] = None, client: Optional[Client] = None,
                 note: Optional[str] = None, max_waiters: int = 0, any_thread: bool = False,
                 on_lost: Optional[Callback] = None,
                 on_asked: Optional[Callback] = None) -> None:
        plan = Plan("semaphore", name, slots, weight, note, max_waiters, any_thread)
        super().__init__(plan, timeout, url, client, on_lost, on_asked)
