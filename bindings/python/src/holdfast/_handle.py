"""A handle is one place in one line: the library's struct hf_lock.

A Plan says which handle to make.  Locks with threads and those with asyncio share both.
"""
from __future__ import annotations

import ctypes
import dataclasses
import math
from typing import Optional

from . import _c
from ._client import Client, encode
from ._errors import InvalidArgument


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a lock is, before there is one in any store."""
    kind: str  # mutex, reader, writer, semaphore, claim, all_of
    name: str
    capacity: int = 1
    weight: int = 1
    note: Optional[str] = None
    max_waiters: int = 0
    any_thread: bool = False
    parts: tuple[Plan, ...] = ()

    @property
    def shares(self) -> bool:
        """May several have it at the same time?"""
        return self.kind in ("reader", "semaphore")

    def make(self, client: Client) -> Handle:
        handle = Handle(client)
        try:
            for part in self.parts:
                handle.parts.append(part.make(client))
                client._parts.discard(handle.parts[-1])
            with client._call() as pointer:
                _construct(self, client, pointer, handle)
                self._set_up(client, handle)
        except BaseException:
            handle._free()
            raise
        return handle

    def _set_up(self, client: Client, handle: Handle) -> None:
        if self.note is not None:
            client._check(_c.lib.hf_set_note(handle.pointer, encode(self.note)))
        if self.max_waiters:
            client._check(_c.lib.hf_set_max_waiters(handle.pointer, self.max_waiters))
        if self.any_thread:
            client._check(_c.lib.hf_set_any_thread(handle.pointer, True))


def _construct(plan: Plan, client: Client, pointer: ctypes.c_void_p, handle: Handle) -> None:
    out = ctypes.byref(handle.pointer)
    if plan.kind == "all_of":
        array = (_c.Pointer * len(handle.parts))(*(part.pointer for part in handle.parts))
        client._check(_c.lib.hf_all_of(array, len(handle.parts), out))
    elif plan.kind == "semaphore":
        for number in (plan.capacity, plan.weight):
            if not 0 < number < 2**32:
                raise InvalidArgument(_c.EINVAL, f"{number} is no number of slots")
        client._check(_c.lib.hf_semaphore(pointer, encode(plan.name), plan.capacity, plan.weight,
                                          out))
    else:
        construct = getattr(_c.lib, f"hf_{plan.kind}")
        client._check(construct(pointer, encode(plan.name), out))


class Handle:
    """One place in line.  Parts of several as one are freed after the whole, by the whole."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.pointer = _c.fresh()
        self.parts: list[Handle] = []
        client._parts.add(self)

    @property
    def state(self) -> int:
        return int(_c.lib.hf_state(self.pointer)) if self.pointer else _c.IDLE

    @property
    def token(self) -> int:
        """0 unless held."""
        return int(_c.lib.hf_token(self.pointer)) if self.pointer else 0

    @property
    def slot(self) -> int:
        """-1 unless held."""
        return int(_c.lib.hf_slot(self.pointer)) if self.pointer else -1

    @property
    def left(self) -> float:
        """Seconds for which it is surely ours yet."""
        ms = int(_c.lib.hf_left_ms(self.pointer)) if self.pointer else 0
        return math.inf if ms == _c.INT64_MAX else ms / 1000

    def _cancel(self) -> None:
        if self.pointer:
            _c.lib.hf_cancel(self.pointer)

    def _free(self) -> None:
        """Gives it up if it is held or waited for, and frees it."""
        pointer, self.pointer = self.pointer, _c.fresh()
        if pointer:
            _c.lib.hf_lock_free(pointer)
        for part in self.parts:
            part._free()

    def __del__(self) -> None:
        if self in self.client._parts and not self.client.closed:
            self._free()
