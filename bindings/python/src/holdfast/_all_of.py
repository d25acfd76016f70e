"""Several locks as one."""
from __future__ import annotations

from typing import Optional, Union

from ._base import BaseLock, Callback
from ._client import Client
from ._handle import Plan


class AllOf(BaseLock):
    """Several locks as one: all are acquired within one time limit, or none is, in an order that
    is the same for everybody, so that nobody waits in a circle.  It is held while all are.

    The arguments say which locks are wanted; a string is the name of a Lock.  These objects are not
    acquired themselves: AllOf has places of its own.  `token` is the highest of all tokens, `tokens`
    has each of them.

    >>> with AllOf("from-account", ReadLock("rates"), timeout=10) as both:
    ...     len(both.tokens)
    2
    """

    def __init__(self, *locks: Union[BaseLock, str], timeout: Optional[float] = None,
                 url: Optional[str] = None, client: Optional[Client] = None,
                 on_lost: Optional[Callback] = None) -> None:
        parts = tuple(_plan_of(lock) for lock in locks)
        if url is None and client is None:
            url, client = _common_store(locks)
        plan = Plan("all_of", ", ".join(part.name for part in parts), parts=parts)
        super().__init__(plan, timeout, url, client, on_lost)

    @property
    def tokens(self) -> tuple[int, ...]:
        """The fencing tokens, in the order in which the locks were given."""
        return tuple(part.token for part in self._held().parts)


def _plan_of(lock: Union[BaseLock, str]) -> Plan:
    if isinstance(lock, BaseLock):
        return lock._plan
    if isinstance(lock, str):
        return Plan("mutex", lock)
    raise TypeError(f"a lock, or a string that names one, is needed, not {lock!r}")


def _common_store(locks: tuple[Union[BaseLock, str], ...]
                  ) -> tuple[Optional[str], Optional[Client]]:
    found = {(lock._url, lock._own_client) for lock in locks if isinstance(lock, BaseLock)}
    if len(found) > 1:
        raise ValueError("the locks are in different stores: one session has to hold all of them")
    return found.pop() if found else (None, None)
