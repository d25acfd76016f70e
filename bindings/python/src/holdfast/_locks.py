"""Locks for threads: Lock, ReadLock, WriteLock, Semaphore, Claim."""
from __future__ import annotations

import ctypes
import functools
import inspect
import threading
from types import TracebackType
from typing import Any, Callable, Optional, TypeVar, Union

from . import _c, _lookout, _process
from ._client import Client, milliseconds, shared_client
from ._errors import ForkedError, HoldfastError, LockLost, NotHeld, tell_beside
from ._handle import Handle, Plan
from ._tasks import TaskPlace, TaskSide
from ._wait import acquire_interruptibly

Callback = Callable[["BaseLock"], None]
F = TypeVar("F", bound=Callable[..., Any])
L = TypeVar("L", bound="BaseLock")


class _Place:
    """A handle and who has it: a thread, and how often."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.owner = 0
        self.count = 0
        self.watched: list[int] = []  # descriptors

    def look_away(self) -> None:
        while self.watched:
            _lookout.lookout.remove(self.watched.pop())


class Acquired:
    """What acquire() returns: `with lock.acquire(timeout=1):` releases it at the end."""

    def __init__(self, lock: BaseLock) -> None:
        self.lock = lock

    def __enter__(self) -> BaseLock:
        return self.lock

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.lock.__exit__(kind, error, trace)


class BaseLock(TaskSide):
    """What all locks have in common.

    Threads.  Threads may share a lock object.  The thread that holds it may acquire it again,
    and must release it as often.  Of a lock with one holder the others wait for their turn, and
    any thread may ask for `token`, `left` and `ensure_held()`.  Of a ReadLock or Semaphore every
    thread has a place of its own.  Only the thread that acquired it may release it, unless the
    lock was made with any_thread=True: then any may, and nothing is counted.

    Fork.  A lock that is not held can be used in a forked child, which has its own client.
    What the parent holds is not the child's: it gets ForkedError.

    Pickle.  A lock that is not held can be given to another process, if it has no client of its
    own.

    Callbacks.  on_lost(lock) is called when the lock is lost while it is held; on_asked(lock)
    when somebody asks for it: `lock.asked` tells why.  Both come from a thread of this package.
    They may do anything but release the lock, which belongs to another thread.

    Tasks.  `async with lock:` is for tasks of asyncio: see acquire_async().  Every task has a
    place of its own, and may take the lock again while it has it.  The running loop does all
    the work: a loop that is blocked for longer than the lease loses the lock.  Callbacks come
    from the loop then.
    """

    def __init__(self, plan: Plan, timeout: Optional[float], url: Optional[str],
                 client: Optional[Client], on_lost: Optional[Callback] = None,
                 on_asked: Optional[Callback] = None) -> None:
        milliseconds(timeout)
        if url is not None and client is not None:
            raise TypeError("give a URL or a client, not both")
        self.timeout = timeout
        self._plan = plan
        self._url = url
        self._own_client = client
        self._born = _process.generation
        self._mutex = threading.Lock()
        self._places: dict[int, _Place] = {}  # by thread if several may have it
        self._idle: list[_Place] = []
        self._cancels = 0
        self._on_lost, self._on_asked = on_lost, on_asked
        self._has_callbacks = on_lost is not None or on_asked is not None
        self._each_thread = plan.shares and not plan.any_thread  # has a place of its own
        TaskSide.__init__(self)

    # ---- Acquire and release ----------------------------------------------------------------

    def acquire(self, timeout: Optional[float] = None, *, blocking: bool = True) -> Acquired:
        """Wait until it is yours, or raise LockTimeout.

        timeout   seconds; None: that of the lock; negative: for ever; 0: try once
        blocking  False: try once; if somebody else has it, LockBusy, which is a LockTimeout
        """
        limit = 0 if not blocking else milliseconds(self.timeout if timeout is None else timeout)
        self._acquire(limit)
        return Acquired(self)

    def _acquire(self, limit: int) -> None:
        place = self._take_place()
        client, cancels = place.handle.client, self._cancels
        try:
            client._enter()
            try:
                r, message = acquire_interruptibly(place.handle, limit)
                # One that was interrupted cancels the waits of all threads: the others go on.
                while r == _c.ECANCELED and cancels == self._cancels and not client.closed:
                    r, message = acquire_interruptibly(place.handle, limit)
                client._check(r, message)
            finally:
                client._leave()
            place.owner = threading.get_ident()
            place.count += 1
            if place.count == 1 and self._has_callbacks:
                self._look_out(place)
        finally:
            if place.count == 0:
                self._put_back(place)

    def release(self) -> None:
        """Give it up.  LockLost: it was not yours to the end."""
        place = self._current()
        if not isinstance(place, _Place):
            raise NotHeld(_c.ESTATE, f"lock {self.name!r} is not held by a thread")
        if place.owner == threading.get_ident() or self._plan.any_thread:
            place.count -= 1
            if place.count == 0 and place.watched:
                place.look_away()
        client = place.handle.client
        try:
            client._enter()
            try:
                client._check(_c.lib.hf_release(place.handle.pointer))
            finally:
                client._leave()
        finally:
            if place.count == 0:
                self._put_back(place)

    def cancel(self) -> None:
        """End every wait for this lock object, in any thread, with LockCanceled."""
        self._cancels += 1
        for place in list(self._places.values()):
            place.handle._cancel()

    def __enter__(self: L) -> L:
        self._acquire(milliseconds(self.timeout))
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        """LockLost is raised only if the body raised nothing: what it raised matters more, and
        gets a note."""
        try:
            self.release()
        except HoldfastError as late:
            if error is None:
                raise
            tell_beside(error, f"lock {self.name!r}: {late}")

    def __call__(self, function: F) -> F:
        """As a decorator: every call acquires and releases it."""
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                async with self:
                    return await function(*args, **kwargs)
            return awaited  # type: ignore[return-value]

        @functools.wraps(function)
        def locked(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)
        return locked  # type: ignore[return-value]

    # ---- What it is ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._plan.name

    @property
    def client(self) -> Client:
        """The client that it is in, or will be."""
        return self._own_client or shared_client(self._url)

    @property
    def is_held(self) -> bool:
        """Is it surely yours at this moment, by this process's own clock?"""
        return self.left > 0

    is_locked = is_held

    def locked(self) -> bool:
        """The same, as threading calls it."""
        return self.is_held

    @property
    def left(self) -> float:
        """Seconds for which it is surely yours yet: 0.0: stop now; math.inf: as long as this
        process lives.  Asks nobody, so look before every step that matters."""
        place = self._current()
        return 0.0 if place is None else place.handle.left

    @property
    def token(self) -> int:
        """The fencing token: higher for every later holder of this name.  NotHeld or LockLost
        if it is not yours."""
        return self._held().handle.token

    @property
    def slot(self) -> int:
        """Of a semaphore: a number, 0 to slots - 1, that no other holder has at this time.  Of
        other locks -1."""
        return self._held().handle.slot

    def ensure_held(self, timeout: float = 0) -> None:
        """Ask the store whether it is still yours.  LockLost: no.  StoreDown or LockTimeout:
        nobody knows.  With a timeout of 0 the store is asked once."""
        place = self._held()
        with place.handle.client._call():
            r = _c.lib.hf_check(place.handle.pointer, milliseconds(timeout))
            place.handle.client._check(r)

    def __repr__(self) -> str:
        state = "held" if self._born == _process.generation and self.is_held else "not held"
        return f"<holdfast.{type(self).__name__} {self.name!r} {state}>"

    @property
    def asked(self) -> Optional[str]:
        """Has somebody asked for this lock since it was acquired?  The last reason, which may be
        "", or None."""
        place = self._held()
        reason = ctypes.create_string_buffer(4096)
        if not _c.lib.hf_asked(place.handle.pointer, reason, len(reason)):
            return None
        return _c.text(reason.value)

    def _look_out(self, place: _Place) -> None:
        for call, descriptor in ((self._on_lost, _c.lib.hf_lost_fd),
                                 (self._on_asked, _c.lib.hf_ask_fd)):
            if call is not None:
                fd = place.handle.client._check(descriptor(place.handle.pointer))
                _lookout.lookout.add(fd, functools.partial(self._tell, place.handle, call))
                place.watched.append(fd)

    def _tell(self, handle: Handle, call: Callback) -> None:
        """The descriptor is readable a moment before the rest is visible: this call waits for
        that."""
        with handle.client._call():
            if handle.pointer:
                _c.lib.hf_lost_fd(handle.pointer)
        call(self)

    # ---- Places -------------------------------------------------------------------------------

    def _key(self) -> int:
        return threading.get_ident() if self._each_thread else 0

    def _take_place(self) -> _Place:
        """The calling thread's, to acquire it."""
        self._settle_in_process()
        with self._mutex:
            key = self._key()
            place = self._places.get(key)
            if place is not None and place.handle.client.closed and self._own_client is None:
                place = None
                self._idle.clear()
            if place is None:
                place = self._idle.pop() if self._idle else _Place(self._plan.make(self.client))
                self._places[key] = place
            return place

    def _put_back(self, place: _Place) -> None:
        """Let another thread use it if this one has it no more."""
        if self._each_thread:
            with self._mutex:
                self._idle.append(self._places.pop(self._key()))

    def _current(self) -> Union[_Place, TaskPlace, None]:
        """What is held: by this task or thread, or else by the only one that does."""
        if self._born != _process.generation and self._is_held_somewhere():
            raise self._forked()
        task_place = self._task_place()[1]
        if task_place is not None:
            return task_place
        place = self._places.get(self._key())
        if place is not None:
            return place if place.count else None
        held = self._all_held()
        return held[0] if len(held) == 1 else None

    def _held(self) -> Union[_Place, TaskPlace]:
        place = self._current()
        if place is None:
            raise NotHeld(_c.ESTATE, f"lock {self.name!r} is not held")
        if place.handle.left == 0:
            raise LockLost(_c.ELOST, f"lock {self.name!r} is lost")
        return place

    def _is_held_somewhere(self) -> bool:
        return bool(self._all_held())

    def _all_held(self) -> list[Union[_Place, TaskPlace]]:
        places: list[Union[_Place, TaskPlace]] = [*self._places.values(), *self._by_task.values()]
        return [place for place in places if place.count]

    def _settle_in_process(self) -> None:
        """After a fork the parent's handles are of no use; the child makes new ones."""
        if self._born == _process.generation:
            return
        if self._is_held_somewhere():
            raise self._forked()
        self._mutex = threading.Lock()
        self._places, self._idle, self._by_task = {}, [], {}
        self._born = _process.generation

    def _forked(self) -> ForkedError:
        return ForkedError(_c.EFORK, f"lock {self.name!r} was held by the parent process when "
                                     "this one was forked: it is not yours; make a new lock")

    def __getstate__(self) -> dict[str, Any]:
        if self._own_client is not None:
            raise TypeError("a lock with a client of its own cannot be pickled: give it a URL")
        if self._is_held_somewhere():
            raise TypeError(f"lock {self.name!r} is held: it cannot be given to another process")
        return {"plan": self._plan, "timeout": self.timeout, "url": self._url,
                "on_lost": self._on_lost, "on_asked": self._on_asked}

    def __setstate__(self, state: dict[str, Any]) -> None:
        BaseLock.__init__(self, state["plan"], state["timeout"], state["url"], None,
                          state["on_lost"], state["on_asked"])


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
    WriteLock may take the ReadLock of the same name, too.

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
        """Become a reader, in place: no other writer slips in."""
        place = self._held()
        place.handle.client._check(_c.lib.hf_downgrade(place.handle.pointer))


class Claim(Lock):
    """One holder at a time, no queue: when it is free, the first to come gets it.

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
