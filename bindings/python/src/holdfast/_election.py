"""Elections: one leads, the others queue, and everybody can know who leads."""
from __future__ import annotations

import asyncio
import contextlib
import ctypes
import math
import threading
import weakref
from types import TracebackType
from typing import Any, Callable, Optional

from . import _c, _process
from ._client import (Client, callback, encode, milliseconds, quietly, shared_client,
                      stop_at_the_end)
from ._errors import (ForkedError, HoldfastError, LockCanceled, LockTimeout, NotHeld, error_of)
from ._explain import explain
from ._inspect import Entry, entry_of, report_of
from ._owned import NOTHING, Owned, wait_until_gone


class _Using:
    """Keeps an election open between two calls."""

    def __init__(self, election: Election) -> None:
        self._as_parameter_ = election._as_parameter_

    def __enter__(self) -> _Using:
        return self

    def __exit__(self, *_arguments: Any) -> None:
        self._as_parameter_ = NOTHING


class Election:
    """Take part in an election, from now until close().

    on_elected(token)   you lead from now on
    on_deposed(error)   you do not lead any more: None after resign(), else LockLost; or the
                        error that ends your part in the election
    on_leader(entry)    the leader changed; None: nobody leads
    observe             only watch who leads
    once                do not queue again after being deposed

    For tasks of asyncio there are `async with` and wait_to_lead_async().

    Callbacks run in a thread of the library, one at a time.  They must not close the election.
    Between on_elected and on_deposed you lead.

    >>> with Election("scheduler", note="web1") as election:
    ...     election.wait_to_lead(timeout=10)
    ...     election.leads, [entry.note for entry in election.candidates()]
    (True, ['web1'])
    """

    def __init__(self, name: str, *, note: Optional[str] = None, observe: bool = False,
                 once: bool = False, on_elected: Optional[Callable[[int], None]] = None,
                 on_deposed: Optional[Callable[[Optional[HoldfastError]], None]] = None,
                 on_leader: Optional[Callable[[Optional[Entry]], None]] = None,
                 url: Optional[str] = None, client: Optional[Client] = None) -> None:
        self.name = name
        self.client = client or shared_client(url)
        self._born = _process.generation
        self._changed = threading.Condition()
        self._wakes: dict[int, Callable[[], None]] = {}  # of tasks that wait
        # Why it takes no part, until join().
        self._out: Optional[HoldfastError] = self._observes() if observe else None
        self._once = once
        self._on_elected, self._on_deposed, self._on_leader = on_elected, on_deposed, on_leader
        self._as_parameter_: Any = NOTHING
        self._made: Optional[weakref.ref[Owned]] = None
        self._addresses: list[int] = []  # to be freed
        self._needs: Any = None  # the client's session, until it is freed
        self._callbacks = (_c.ON_ELECTED(self._elected), _c.ON_DEPOSED(self._deposed),
                           _c.ON_LEADER(self._leader))  # the library has no reference to them
        options = _c.ElectionOptions(
            size=ctypes.sizeof(_c.ElectionOptions), note=None if note is None else encode(note),
            observe=observe, once=once, elected=self._callbacks[0], deposed=self._callbacks[1],
            leader=self._callbacks[2])
        self._as_parameter_ = Owned()
        self._needs = self.client._use()
        try:
            self.client._check(_c.lib.hf_election_new(
                self._needs, encode(name), ctypes.byref(options),
                ctypes.byref(self._as_parameter_)))
        except BaseException:
            self._needs = None  # this object may outlive the client, in a traceback
            raise
        self._addresses.append(self._as_parameter_.value or 0)
        self._made = weakref.ref(self._as_parameter_)
        self.client._parts[id(self)] = self

    # ---- Leading ------------------------------------------------------------------------------

    @property
    def leads(self) -> bool:
        """Do you lead?  By the clock: check before every step that matters."""
        if self._as_parameter_:
            self._refuse_forked()
        return bool(_c.lib.hf_election_leads(self))

    @property
    def token(self) -> int:
        """The fencing token; NotHeld if you do not lead."""
        token = self._ask(_c.lib.hf_token) if self.leads else 0
        if token == 0:
            raise NotHeld(_c.ESTATE, f"you do not lead {self.name!r}")
        return token

    @property
    def left(self) -> float:
        """Seconds for which you certainly lead."""
        if not self.leads:
            return 0.0
        ms = self._ask(_c.lib.hf_left_ms)
        return float("inf") if ms == _c.INT64_MAX else ms / 1000

    def wait_to_lead(self, timeout: Optional[float] = None) -> None:
        """Wait until you lead; LockTimeout after that many seconds.  LockCanceled: you do not take
        part, since resign() or close() was called, by any thread at any time."""
        self._refuse_closed()
        limit = milliseconds(timeout)
        with self._changed:
            won = self._changed.wait_for(self._is_decided, None if limit < 0 else limit / 1000)
        self._raise_unless(won, timeout, "" if won else self._leader_text())

    async def wait_to_lead_async(self, timeout: Optional[float] = None) -> None:
        """wait_to_lead() for a task: the loop keeps running, and no thread waits."""
        self._refuse_closed()
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # that loop is closed
                loop.call_soon_threadsafe(changed.set)

        async def wait() -> None:
            while not self._is_decided():
                changed.clear()
                if not self._is_decided():
                    await changed.wait()

        limit, won = milliseconds(timeout), False
        self._wakes[id(changed)] = wake
        try:
            await asyncio.wait_for(wait(), None if limit < 0 else limit / 1000)
            won = True
        except asyncio.TimeoutError:
            pass
        finally:
            del self._wakes[id(changed)]
        leader = "" if won else await asyncio.to_thread(self._leader_text)
        self._raise_unless(won, timeout, leader)

    def _leader_text(self) -> str:
        text = explain(self.client, _c.EBUSY, self.name)
        return f": {text}" if text else ""

    def _is_decided(self) -> bool:
        return self.leads or self._out is not None

    def _raise_unless(self, won: bool, timeout: Optional[float], leader: str) -> None:
        out = self._out
        if out is not None:
            stop_at_the_end()
            raise type(out)(out.code, out.message)  # of its own: many may wait
        if not won:
            raise LockTimeout(_c.ETIMEOUT, f"{self.name!r} was not won in {timeout} s{leader}")

    def _observes(self) -> NotHeld:
        return NotHeld(_c.ESTATE, f"this only observes {self.name!r}: join() takes part")

    def _leave(self, why: HoldfastError) -> None:
        with self._changed:
            self._out = why
        self._wake()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
        for wake in self._wakes.copy().values():
            wake()

    def resign(self) -> None:
        """Step down, or leave the queue, until join().  Ends every wait_to_lead()."""
        self._refuse_closed()
        with self._changed:  # in the same order as the library
            self._call(_c.lib.hf_election_resign)
            self._out = LockCanceled(_c.ECANCELED, f"this process resigned from {self.name!r}")
        self._wake()

    def join(self) -> None:
        """Queue again after resign() or, with `once`, being deposed."""
        self._refuse_closed()
        with self._changed:
            self._call(_c.lib.hf_election_join)
            self._out = None

    def candidates(self, timeout: float = 0) -> list[Entry]:
        """The leader first, then the candidates in the order of the queue."""
        self._refuse_closed()
        return report_of(self.client, lambda out: _c.lib.hf_election_list(
            self, milliseconds(timeout), out))

    # ---- Closing ------------------------------------------------------------------------------

    def close(self) -> None:
        """Leave, leading or not.  on_deposed is not called: you know.  Ends every
        wait_to_lead()."""
        self._free()

    def _free(self) -> None:
        """Free it when no call uses it.  If a signal handler raises, the next call continues."""
        self._as_parameter_ = NOTHING
        if self._made is None or self._born != _process.generation:
            return
        self._leave(LockCanceled(_c.ECANCELED, f"the election {self.name!r} was closed"))
        wait_until_gone(self._made, math.inf, lambda: None)
        while self._addresses:
            _c.lib.hf_election_free(_c.Pointer(self._addresses.pop()))
        self._needs = None

    def __enter__(self) -> Election:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    async def __aenter__(self) -> Election:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]],
                        error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        """In a thread, since a running callback may need the loop."""
        await asyncio.to_thread(self.close)

    def __del__(self) -> None:
        if getattr(self, "_addresses", None):
            quietly(self._free)

    def __repr__(self) -> str:
        return f"<holdfast.Election {self.name!r} {'leads' if self.leads else 'does not lead'}>"

    def __reduce__(self) -> str:
        raise TypeError("an Election cannot be pickled: it belongs to this process")

    def _refuse_forked(self) -> None:
        if self._born != _process.generation:
            raise ForkedError(_c.EFORK, f"the parent process takes part in {self.name!r}, this "
                                        "one does not: make a new Election")

    def _refuse_closed(self) -> None:
        self._refuse_forked()
        if not self._as_parameter_:
            raise NotHeld(_c.ESTATE, f"the election {self.name!r} is closed")

    def _call(self, function: Callable[[Any], int]) -> None:
        self._refuse_closed()
        self.client._check(function(self))

    def _ask(self, function: Callable[[Any], int]) -> int:
        """Call a function on the mutex behind the election."""
        with _Using(self) as used:
            return int(function(_c.lib.hf_election_lock(used)))

    # ---- Called by the library ------------------------------------------------------------------

    def _elected(self, _election: Any, token: int, _data: Any) -> None:
        self._wake()
        if self._on_elected is not None:
            with callback():
                self._on_elected(token)

    def _deposed(self, _election: Any, why: int, _data: Any) -> None:
        error = None
        if why == _c.ELOST:
            error = error_of(why, message=f"you do not lead {self.name!r} any more: the lock was lost")
        elif why < 0:
            text = explain(self.client, why, self.name)
            error = error_of(why, None if self.client.closed else self.client, text)
        if error is not None and (why != _c.ELOST or self._once):
            self._leave(error)
        if self._on_deposed is not None:
            with callback():
                self._on_deposed(error)

    def _leader(self, _election: Any, entry: Any, _data: Any) -> None:
        if self._on_leader is not None:
            with callback():
                self._on_leader(entry_of(entry.contents) if entry else None)
