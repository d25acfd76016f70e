"""Inspecting a store: holders and waiters, and what can be done about them."""
from __future__ import annotations

import asyncio
import ctypes
import dataclasses
import datetime
from typing import Any, Callable, Iterator, Optional

from . import _c
from ._client import Client, encode, milliseconds, shared_client


@dataclasses.dataclass(frozen=True)
class Entry:
    """One place in the queue of a lock."""
    name: str
    kind: str  # mutex, reader, writer, semaphore, claim; or unknown
    held: bool  # else waiting
    token: int  # names this place in break_()
    since: datetime.datetime  # held or queued since
    weight: int
    capacity: int
    slot: Optional[int]
    host: str  # from here on "" or 0 means unknown
    user: str
    pid: int
    command: str
    note: str
    version: str  # of the Holdfast that took this place


@dataclasses.dataclass(frozen=True)
class Finding:
    """One finding about a store."""
    level: str  # fine, warning, fault
    about: str
    text: str
    advice: str  # "" when there is nothing to do


def entry_of(raw: _c.Entry) -> Entry:
    since = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    return Entry(
        name=_c.text(raw.name), kind=_c.text(raw.kind), held=raw.held, token=raw.token,
        since=since + datetime.timedelta(microseconds=raw.since), weight=raw.weight,
        capacity=raw.capacity, slot=None if raw.slot < 0 else raw.slot, host=_c.text(raw.host),
        user=_c.text(raw.user), pid=raw.pid, command=_c.text(raw.command), note=_c.text(raw.note),
        version=_c.text(raw.version))


def entries_of(report: Any) -> list[Entry]:
    return [entry_of(report.contents.entry[i].contents) for i in range(report.contents.count)]


def report_of(client: Client, ask: Callable[[Any], Any]) -> list[Entry]:
    """The entries of the report that a call returns."""
    report = _c.REPORT()
    client._check(ask(ctypes.byref(report)))
    try:
        return entries_of(report)
    finally:
        _c.lib.hf_report_free(report)


def _choose(url: Optional[str], client: Optional[Client]) -> Client:
    chosen = client or shared_client(url)
    chosen._use()
    return chosen


def inspect(name: Optional[str] = None, *, timeout: float = 0, url: Optional[str] = None,
            client: Optional[Client] = None) -> list[Entry]:
    """List the holders and waiters of a lock; None: of every lock in the store.  Sorted by name,
    then first come first served.  With a timeout of 0 the store is asked once.

    >>> with Lock("deploy"):
    ...     [(entry.name, entry.kind, entry.held) for entry in inspect("deploy")]
    [('deploy', 'mutex', True)]
    """
    chosen = _choose(url, client)
    return report_of(chosen, lambda out: _c.lib.hf_inspect(
        chosen, None if name is None else encode(name), milliseconds(timeout), out))


async def inspect_async(name: Optional[str] = None, *, timeout: float = 0,
                        url: Optional[str] = None, client: Optional[Client] = None
                        ) -> list[Entry]:
    """inspect() for a task: a thread asks the store, and the loop keeps running.

    >>> asyncio.run(inspect_async("nobody-has-it"))
    []
    """
    return await asyncio.to_thread(inspect, name, timeout=timeout, url=url, client=client)


def watch(name: str, *, url: Optional[str] = None, client: Optional[Client] = None
          ) -> Iterator[list[Entry]]:
    """Yield the queue of a lock now, and again after every change, for ever.

    >>> with Lock("deploy"):
    ...     for line in watch("deploy"):
    ...         print(len(line))
    ...         break
    1
    """
    seen = _c.REPORT()
    try:
        while True:
            chosen = _choose(url, client)
            report = _c.REPORT()
            # For a second at a time, so that signals are handled.
            r = _c.lib.hf_watch(chosen, encode(name), seen, 1000, ctypes.byref(report))
            if r == _c.ETIMEOUT:
                continue
            chosen._check(r)
            _c.lib.hf_report_free(seen)
            seen = report
            yield entries_of(seen)
    finally:
        _c.lib.hf_report_free(seen)


def ask(name: str, reason: Optional[str] = None, *, timeout: float = 0,
        url: Optional[str] = None, client: Optional[Client] = None) -> int:
    """Ask all holders to give the lock up, and say why.  Nothing is taken away.  Returns how many
    holders were asked; NotFound if nobody holds it.

    >>> with Lock("deploy") as lock:
    ...     ask("deploy", "a hotfix waits")
    1
    """
    chosen = _choose(url, client)
    return chosen._check(_c.lib.hf_ask(
        chosen, encode(name), None if reason is None else encode(reason),
        milliseconds(timeout)))


def break_(name: str, token: int, *, timeout: float = 0, url: Optional[str] = None,
           client: Optional[Client] = None) -> None:
    """Take the place `token` in the queue of `name` away from its owner.  A holder gets LockLost.
    NotFound: that place is gone; no other is touched.

    >>> with Lock("deploy") as lock:  # doctest: +IGNORE_EXCEPTION_DETAIL
    ...     break_("deploy", lock.token)
    Traceback (most recent call last):
        ...
    holdfast.LockLost: somebody else took it away
    """
    chosen = _choose(url, client)
    chosen._check(_c.lib.hf_break(chosen, encode(name), token, milliseconds(timeout)))


def verify(name: str, token: int, *, timeout: float = 0, url: Optional[str] = None,
           client: Optional[Client] = None) -> bool:
    """Does `token` still hold `name`?  For processes other than the holder: a child process, or the
    resource that the lock protects.

    >>> with Lock("deploy") as lock:
    ...     verify("deploy", lock.token), verify("deploy", 17)
    (True, False)
    """
    chosen = _choose(url, client)
    r = _c.lib.hf_verify(chosen, encode(name), token, milliseconds(timeout))
    return r != _c.ELOST and chosen._check(r) == 0


def doctor(name: Optional[str] = None, *, timeout: float = 0, url: Optional[str] = None,
           client: Optional[Client] = None) -> list[Finding]:
    """Examine the store, and also the queue of `name` unless that is None.

    >>> all(finding.level == "fine" for finding in doctor())
    True
    """
    chosen = _choose(url, client)
    found = _c.FINDINGS()
    chosen._check(_c.lib.hf_doctor(chosen, None if name is None else encode(name),
                                   milliseconds(timeout), ctypes.byref(found)))
    try:
        raw = [found.contents.finding[i].contents for i in range(found.contents.count)]
        return [Finding(("fine", "warning", "fault")[one.level], _c.text(one.about),
                        _c.text(one.text), _c.text(one.advice)) for one in raw]
    finally:
        _c.lib.hf_findings_free(found)
