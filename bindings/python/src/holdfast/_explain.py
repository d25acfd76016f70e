"""Adds the holder of a lock to the message of a failed acquire."""
from __future__ import annotations

import ctypes
from typing import Any

from . import _c
from ._client import encode
from ._inspect import Entry, entries_of

PATIENCE_MS = 1000  # the failure is known: its message must not come late
EXPLAINED = (_c.EBUSY, _c.ETIMEOUT, _c.EMISMATCH)


def explain(client: Any, code: int, *names: str) -> str:
    """Why the lock, or one of several, was not acquired; "" if there is nothing to add to the text of
    the library."""
    if code not in EXPLAINED:
        return ""
    for name in names:
        entries = _ask(client, name)
        if code == _c.EMISMATCH and entries:
            return _mismatch(name, entries[0])
        holders = [entry for entry in entries if entry.held]
        if holders:
            more = len(holders) - 1
            others = f" and {more} other{'s' * (more > 1)}" if more else ""
            gave_up = "gave up waiting: " if code == _c.ETIMEOUT else ""
            return f'{gave_up}"{name}" is held by {_owner(holders[0])}{others}'
    return ""  # it has just become free


def _ask(client: Any, name: str) -> list[Entry]:
    """Empty also if the store does not answer, or the client is closed."""
    report = _c.REPORT()
    if _c.lib.hf_inspect(client, encode(name), PATIENCE_MS, ctypes.byref(report)) < 0:
        return []
    try:
        return entries_of(report)
    finally:
        _c.lib.hf_report_free(report)


def _mismatch(name: str, first: Entry) -> str:
    kind = f"semaphore of {first.capacity}" if first.kind == "semaphore" else first.kind
    return (f'"{name}" is in use as a {kind} by {_owner(first)}; use the same kind everywhere, or '
            "another name")


def _owner(entry: Entry) -> str:
    """It is other people's text."""
    if not entry.host:  # of another program, such as a ZooKeeper client
        return _clean(entry.note) or "somebody"
    who = f"{entry.user or '?'}@{entry.host}"
    return _clean(f"{entry.command[:60] or 'a process'} (pid {entry.pid}, {who})")


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
