"""Elections: one leads, the rest queue, everybody can know who leads."""
from __future__ import annotations

import ctypes
import threading
from types import TracebackType
from typing import Any, Callable, Optional

from . import _c, _process
from ._client import Client, callback, encode, milliseconds, quietly, shared_client
from ._errors import ForkedError, HoldfastError, LockTimeout, NotHeld, error_of
from ._inspect import Entry, entry_of, report_of


class Election:
    """Take part in an election, from now until close().

    on_elected(token)   you lead from now on
    on_deposed(error)   you do not lead any more: None after resign(), else LockLost; or the
                        error that ends your part in the election
    on_leader(entry)    another leads; None: nobody does
    observe             only watch who leads
    once                do not queue again after being deposed

    Callbacks come from a thread of the library, one at a time.  They must not close the election.
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
        self._fault: Optional[HoldfastError] = None
        self._on_elected, self._on_deposed, self._on_leader = on_elected, on_deposed, on_leader
        self._pointer = _c.fresh()
        self._callbacks = (_c.ON_ELECTED(self._elected), _c.ON_DEPOSED(self._deposed),
                           _c.ON_LEADER(self._leader))  # the library has no reference to them
        options = _c.ElectionOptions(
            size=ctypes.sizeof(_c.ElectionOptions), note=None if note is None else encode(note),
            observe=observe, once=once, elected=self._callbacks[0], deposed=self._callbacks[1],
            leader=self._callbacks[2])
        with self.client._call() as pointer:
            self.client._check(_c.lib.hf_election_new(
                pointer, encode(name), ctypes.byref(options), ctypes.byref(self._pointer)))
        self.client._parts.add(self)

    # ---- Leading ------------------------------------------------------------------------------

    @property
    def leads(self) -> bool:
        """Do you lead?  By the clock: look before every step that matters."""
        return bool(self._pointer) and bool(_c.lib.hf_election_leads(self._use()))

    @property
    def token(self) -> int:
        """The fencing token; NotHeld if you do not lead."""
        token = int(_c.lib.hf_token(_c.lib.hf_election_lock(self._use()))) if self.leads else 0
        if token == 0:
            raise NotHeld(_c.ESTATE, f"you do not lead {self.name!r}")
        return token

    @property
    def left(self) -> float:
        """Seconds for which you surely lead yet."""
        if not self.leads:
            return 0.0
        ms = int(_c.lib.hf_left_ms(_c.lib.hf_election_lock(self._use())))
        return float("inf") if ms == _c.INT64_MAX else ms / 1000

    def wait_to_lead(self, timeout: Optional[float] = None) -> None:
        """Until you lead; LockTimeout after that many seconds."""
        with self._changed:
            limit = None if timeout is None or timeout < 0 else timeout
            self._changed.wait_for(lambda: self.leads or self._fault is not None, limit)
            if self._fault is not None:
                raise self._fault
            if not self.leads:
                raise LockTimeout(_c.ETIMEOUT, f"{self.name!r} was not won in {timeout} s")

    def resign(self) -> None:
        """Step down, or out of the queue, until join()."""
        with self.client._call():
            self.client._check(_c.lib.hf_election_resign(self._use()))

    def join(self) -> None:
        """Queue again after resign() or, with `once`, being deposed."""
        self._fault = None
        with self.client._call():
            self.client._check(_c.lib.hf_election_join(self._use()))

    def candidates(self, timeout: float = 0) -> list[Entry]:
        """The leader first, then those who would follow, in order."""
        with self.client._call():
            return report_of(self.client, lambda out: _c.lib.hf_election_list(
                self._use(), milliseconds(timeout), out))

    # ---- Its end ------------------------------------------------------------------------------

    def close(self) -> None:
        """Leave, leading or not.  on_deposed is not called: you know."""
        self._free()

    def _cancel(self) -> None:
        """Nobody waits in a call."""

    def _free(self) -> None:
        pointer, self._pointer = self._pointer, _c.fresh()
        if pointer:
            _c.lib.hf_election_free(pointer)

    def __enter__(self) -> Election:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            quietly(self._free)

    def __repr__(self) -> str:
        return f"<holdfast.Election {self.name!r} {'leads' if self.leads else 'does not lead'}>"

    def __reduce__(self) -> str:
        raise TypeError("an Election cannot be pickled: it is one process's part in it")

    def _use(self) -> ctypes.c_void_p:
        if self._born != _process.generation:
            raise ForkedError(_c.EFORK, f"the parent process takes part in {self.name!r}, this "
                                        "one does not: make a new Election")
        if not self._pointer:
            raise NotHeld(_c.ESTATE, f"the election {self.name!r} is closed")
        return self._pointer

    # ---- Called by the library ------------------------------------------------------------------

    def _elected(self, _election: Any, token: int, _data: Any) -> None:
        with self._changed:
            self._changed.notify_all()
        if self._on_elected is not None:
            with callback():
                self._on_elected(token)

    def _deposed(self, _election: Any, why: int, _data: Any) -> None:
        error = error_of(why, self.client._pointer or None) if why < 0 else None
        if error is not None and why != _c.ELOST:
            with self._changed:
                self._fault = error
                self._changed.notify_all()
        if self._on_deposed is not None:
            with callback():
                self._on_deposed(error)

    def _leader(self, _election: Any, entry: Any, _data: Any) -> None:
        if self._on_leader is not None:
            with callback():
                self._on_leader(entry_of(entry.contents) if entry else None)
