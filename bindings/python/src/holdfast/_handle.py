"""A handle is one place in the queue of a lock: struct hf_lock of the library.

A Plan says which handle to create.  Locks for threads and for asyncio use both.
"""
from __future__ import annotations

import ctypes
import dataclasses
import math
from typing import Any, Optional

from . import _c
from ._client import Client, encode
from ._errors import InvalidArgument
from ._owned import NOTHING, Owned, free_with


@dataclasses.dataclass(frozen=True)
class Plan:
    """The arguments of a lock, from which handles are created."""
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
        """Can it have several holders at the same time?"""
        return self.kind in ("reader", "semaphore")

    @property
    def names(self) -> tuple[str, ...]:
        """Of each lock in it."""
        return tuple(part.name for part in self.parts) or (self.name,)

    def make(self, client: Client) -> Handle:
        handle = Handle(client)
        handle.parts = [part.make(client) for part in self.parts]
        handle._as_parameter_ = Owned()
        try:
            handle._as_parameter_.needs = client._use()
            self._construct(handle)
            free_with(handle, _c.lib.hf_lock_free)
            self._set_up(handle)
        except BaseException:
            handle._free()
            raise
        client._parts[id(handle)] = handle
        if client.closed:  # meanwhile
            handle._free()
        return handle

    def _construct(self, handle: Handle) -> None:
        check, out = handle.client._check, ctypes.byref
        if self.kind == "all_of":
            count = len(handle.parts)
            handle._as_parameter_.needs = [part._as_parameter_ for part in handle.parts]
            array = (_c.Pointer * count)(*(one.value for one in handle._as_parameter_.needs))
            check(_c.lib.hf_all_of(array, count, out(handle._as_parameter_)))
            return
        numbers: tuple[int, ...] = ()
        if self.kind == "semaphore":
            numbers = _uint32(self.capacity, "slots"), _uint32(self.weight, "slots")
        construct = getattr(_c.lib, f"hf_{self.kind}")
        check(construct(handle._as_parameter_.needs, encode(self.name), *numbers,
                        out(handle._as_parameter_)))

    def _set_up(self, handle: Handle) -> None:
        check = handle.client._check
        if self.note is not None:
            check(_c.lib.hf_set_note(handle, encode(self.note)))
        if self.max_waiters:
            check(_c.lib.hf_set_max_waiters(handle, _uint32(self.max_waiters, "waiters")))
        if self.any_thread:
            check(_c.lib.hf_set_any_thread(handle, True))


def _uint32(number: int, of_what: str) -> int:
    """ctypes would cut it to 32 bits."""
    if not 0 < number < 2**32:
        raise InvalidArgument(_c.EINVAL, f"{number} is no number of {of_what}")
    return number


class Handle:
    """One place in a queue.  It can be passed to calls of the library; see _owned.py."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.parts: list[Handle] = []  # of AllOf
        self.watched = False  # by the watcher
        self.reported = False  # on_lost was called
        self.helped = False  # a helper thread waits for it, on behalf of the main thread
        self._as_parameter_: Any = NOTHING

    @property
    def state(self) -> int:
        return int(_c.lib.hf_state(self))

    @property
    def is_taken(self) -> bool:
        """Held or lost, by any thread."""
        return self.state in (_c.HELD, _c.LOST)

    @property
    def token(self) -> int:
        """0 unless held."""
        return int(_c.lib.hf_token(self))

    @property
    def slot(self) -> int:
        """-1 unless held."""
        return int(_c.lib.hf_slot(self))

    @property
    def left(self) -> float:
        """Seconds for which it is certainly ours."""
        ms = int(_c.lib.hf_left_ms(self))
        return math.inf if ms == _c.INT64_MAX else ms / 1000

    def _cancel(self) -> None:
        _c.lib.hf_cancel(self)

    def _free(self) -> None:
        """Give it up if it is held or waited for, and free it when no call uses it."""
        self._as_parameter_ = NOTHING
        for part in self.parts:
            part._free()
