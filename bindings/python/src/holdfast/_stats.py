"""What a client has counted."""
from __future__ import annotations

import ctypes
import dataclasses
import math
from typing import Any

from . import _c


@dataclasses.dataclass(frozen=True)
class Histogram:
    """How long something took.  Times are in seconds."""
    count: int
    total: float
    longest: float
    buckets: tuple[tuple[float, int], ...]  # a limit, and how many took less; the last limit is inf


@dataclasses.dataclass(frozen=True)
class Stats:
    """The counts of all locks of one client since it was opened."""
    acquired: int
    busy: int  # not acquired, by reason
    timeouts: int
    canceled: int
    failed: int
    released: int
    lost: int
    broken: int  # of `lost`: somebody took it away
    wait: Histogram  # for locks that were acquired
    hold: Histogram
    least_left: float  # seconds: the least that was ever left of the lease while a lock was held
    connected: int  # how often the store was reached: the first time and all reconnects
    sessions_lost: int
    renewals: int  # of the lease, while a lock was held
    renewals_late: int  # with less than half of it left
    round_trip: Histogram  # of requests that the store answers at once


def _histogram(raw: _c.Histogram) -> Histogram:
    """The library counts each duration in one bucket; here a bucket has all that are below."""
    below, buckets = 0, []
    for i, count in enumerate(raw.bucket):
        below += count
        buckets.append((math.inf if i == _c.BUCKETS - 1 else 2**i / 1e6, below))
    return Histogram(raw.count, raw.total_us / 1e6, raw.max_us / 1e6, tuple(buckets))


def stats_of(client: Any) -> Stats:
    """`client` is the pointer for the library."""
    locks, session = _c.Stats(), _c.ClientStats()
    _c.lib.hf_get_all_stats(client, ctypes.byref(locks), ctypes.sizeof(locks))
    _c.lib.hf_get_client_stats(client, ctypes.byref(session), ctypes.sizeof(session))
    least = math.inf if locks.least_left == _c.INT64_MAX else locks.least_left / 1e6
    return Stats(
        acquired=locks.acquired, busy=locks.busy, timeouts=locks.timeouts, canceled=locks.canceled,
        failed=locks.failed, released=locks.released, lost=locks.lost, broken=locks.broken,
        wait=_histogram(locks.wait), hold=_histogram(locks.hold), least_left=least,
        connected=session.connected, sessions_lost=session.lost, renewals=session.renewals,
        renewals_late=session.late, round_trip=_histogram(session.round_trip))
