"""Locks shared by many processes, on one machine or many.

    import holdfast

    with holdfast.Lock("nightly-report", timeout=10) as lock:
        write_report(lock.token)

Locks are kept in a file of your own, or where $HOLDFAST_URL or url= says: on ZooKeeper, Redis or
PostgreSQL.  Errors are all HoldfastError; LockTimeout is a TimeoutError, too.
"""
from . import _c
from ._base import BaseLock
from ._client import Client, load, shared_client
from ._errors import (
    DeadlockError, ForkedError, HoldfastError, InvalidArgument, LockBusy, LockCanceled, LockLost,
    LockMismatch, LockTimeout, NotFound, NotHeld, StoreDenied, StoreDown, StoreFull, Unsupported,
)
from ._all_of import AllOf
from ._election import Election
from ._fence import fence_file
from ._inspect import Entry, Finding, ask, break_, doctor, inspect, inspect_async, verify, watch
from ._locks import Claim, Lock, ReadLock, Semaphore, WriteLock
from ._stats import Histogram, Stats

__version__ = "0.1.0"
library_version = _c.text(_c.lib.hf_version())
stores = tuple(_c.text(_c.lib.hf_stores()).split())

__all__ = [
    "AllOf", "BaseLock", "Claim", "Client", "DeadlockError", "Election", "Entry", "Finding",
    "ForkedError", "Histogram", "HoldfastError", "InvalidArgument", "Lock", "LockBusy", "LockCanceled",
    "LockLost", "LockMismatch", "LockTimeout", "NotFound", "NotHeld", "ReadLock", "Semaphore", "Stats",
    "StoreDenied", "StoreDown", "StoreFull", "Unsupported", "WriteLock", "ask", "break_", "doctor",
    "fence_file", "inspect", "inspect_async", "load", "shared_client", "verify", "watch",
]
