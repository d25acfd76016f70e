"""The base class of all locks."""
from __future__ import annotations

import ctypes
import functools
import inspect
import threading
import types
import weakref
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

from . import _c, _watcher, _process
from ._client import Client, encode, milliseconds, shared_client
from ._errors import ForkedError, HoldfastError, LockLost, NotHeld
from ._explain import explain
from ._exit import Acquired, Exit, leave
from ._handle import Handle, Plan
from ._tasks import TaskSide
from ._wait import Results, acquire_interruptibly, give_back

Callback = Callable[[Any], object]
F = TypeVar("F", bound=Callable[..., Any])
L = TypeVar("L", bound="BaseLock")


class BaseLock(TaskSide):
    """The base class of all locks.

    Threads.  Threads may share a lock object.  The thread that holds it may acquire it again, and
    must release it as often.  If the lock has one holder, the other threads wait for their turn,
    and any thread may read `token` and `left` and call `ensure_held()`.  With a ReadLock or
    Semaphore every thread has a place of its own.  Only the thread that acquired the lock may
    release it.  With any_thread=True any thread may, and the lock is not reentrant.

    Fork.  A lock that is not held can be used in a forked child, which has its own client.
    Locks that the parent holds raise ForkedError in the child.

    Pickle.  A lock that is not held can be passed to another process, if it has no client of its
    own.

    Callbacks.  on_lost(lock) is called when the lock is lost while it is held; on_asked(lock)
    each time somebody asks for it: `lock.asked` is the reason.  Both run in a thread of this
    package.  They may do anything but release the lock, which belongs to another thread.

    Tasks.  `async with lock:` is for tasks of asyncio: see acquire_async().  Every task has a
    place of its own, and may acquire the lock again while it holds it.  The running loop does all
    the work: if it is blocked for longer than the lease, the lock is lost.  Callbacks run in the
    loop then.
    """

    def __init__(self, plan: Plan, timeout: Optional[float], url: Optional[str],
                 client: Optional[Client], on_lost: Optional[Callback] = None,
                 on_asked: Optional[Callback] = None) -> None:
        encode(plan.name)
        milliseconds(timeout)
        if url is not None and client is not None:
            raise TypeError("give a URL or a client, not both")
        self.timeout = timeout
        self._plan = plan
        self._url = url
        self._own_client = client
        self._born = _process.generation
        self._cancels = 0
        self._on_lost, self._on_asked = on_lost, on_asked
        self._has_callbacks = on_lost is not None or on_asked is not None
        self._each_thread = plan.shares and not plan.any_thread  # has a place of its own
        self._forget_handles()
        TaskSide.__init__(self)

    # ---- Acquire and release ----------------------------------------------------------------

    def acquire(self, timeout: Optional[float] = None, *, blocking: bool = True) -> Acquired:
        """Wait until the lock is yours, or raise LockTimeout.

        timeout   seconds; None: that of the lock; negative: for ever; 0: try once
        blocking  False: try once; LockBusy, a LockTimeout, if somebody else has the lock
        """
        limit = 0 if not blocking else milliseconds(self.timeout if timeout is None else timeout)
        acquired = Acquired(self)
        handle, results = self._handle(), Results()
        try:
            self._acquire(handle, limit, results)
            return acquired
        except BaseException:
            give_back(handle, results)
            raise

    def _acquire(self, handle: Handle, limit: int, results: Results) -> None:
        """If a signal handler interrupts this after the grant, the caller releases the lock."""
        cancels = self._cancels
        message = acquire_interruptibly(handle, limit, results)
        # A wait that is interrupted cancels the waits of all threads: the others wait again.
        while results[-1] == _c.ECANCELED and cancels == self._cancels and not handle.client.closed:
            message = acquire_interruptibly(handle, limit, results)
        if results[-1] == _c.EINVAL and handle.client.closed:  # closed while it waited
            results[-1] = _c.ECANCELED if len(results) > 1 else _c.EINVAL
        if results[-1] < 0:
            message = explain(handle.client, results[-1], *self._plan.names) or message
        handle.client._check(results[-1], message)
        if self._has_callbacks:
            handle.reported = False
            self._watch(handle)

    def release(self) -> None:
        """Release the lock.  LockLost: it was not yours to the end."""
        handle = self._found()
        self._refuse_forked()
        if handle is None:
            raise NotHeld(_c.ESTATE, f"lock {self.name!r} is not held by this thread")
        handle.client._check(_c.lib.hf_release(handle))

    def cancel(self) -> None:
        """End every wait for this lock object, in any thread, with LockCanceled."""
        self._cancels += 1
        for handle in self._handles():
            handle._cancel()

    def __enter__(self: L) -> L:
        handle, results = self._handle(), Results()
        try:
            self._acquire(handle, milliseconds(self.timeout), results)
            return self
        except BaseException:
            give_back(handle, results)
            raise

    if TYPE_CHECKING:
        def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                     trace: Optional[types.TracebackType]) -> None: ...
    else:
        __exit__ = Exit()

    def _way_out(self) -> Any:
        """The function that `with` calls at the end.  Without a handle, __enter__() raises."""
        try:
            handle = self._handle()
        except HoldfastError:
            return self._refuse_to_leave
        return functools.partial(leave, handle, self)

    def _refuse_to_leave(self, *_arguments: Any) -> None:
        self.release()

    def __call__(self, function: F) -> F:
        """As a decorator: every call acquires and releases the lock.  TypeError for generators, whose
        body runs after the call."""
        call: Any = function  # of an object: its method
        if not inspect.isroutine(function) and not isinstance(function, functools.partial):
            call = getattr(function, "__call__")
        if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
            raise TypeError(f"{function!r} is a generator: its body runs after the call. Put "
                            f"`with lock:` into the body")
        if inspect.iscoroutinefunction(call):
            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                async with self:
                    return await function(*args, **kwargs)
            return awaited  # type: ignore[return-value]

        @functools.wraps(function)
        def locked(*args: Any, **kwargs: Any) -> Any:
            with self:
                result = function(*args, **kwargs)
                if inspect.iscoroutine(result) or inspect.isgenerator(result):
                    result.close()  # it has not begun
                elif not inspect.isasyncgen(result):
                    return result
            raise TypeError(f"{function!r} returned {result!r}, which would run without lock "
                            f"{self.name!r}: decorate an `async def`, or put `with lock:` into "
                            "the body")
        return locked  # type: ignore[return-value]

    # ---- State ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._plan.name

    @property
    def client(self) -> Client:
        """The client of this lock; opened if need be."""
        return self._own_client or shared_client(self._url)

    @property
    def is_held(self) -> bool:
        """Is the lock certainly yours at this moment, by this process's own clock?"""
        return self.left > 0

    is_locked = is_held

    def locked(self) -> bool:
        """The same, by the name that threading uses."""
        return self.is_held

    @property
    def left(self) -> float:
        """Seconds for which the lock is certainly yours.  0.0: stop now; math.inf: as long as this
        process lives.  Does not contact the store, so check before every step that matters."""
        handle = self._found()
        left = 0.0 if handle is None or self._by_task else handle.left
        if left > 0:  # the usual case, which must be fast
            return left
        held = self._current()
        return 0.0 if held is None else held.left

    @property
    def token(self) -> int:
        """The fencing token: higher for every later holder of this name.  NotHeld or LockLost
        if the lock is not yours."""
        return self._held().token

    @property
    def slot(self) -> int:
        """Of a semaphore: a number, 0 to slots - 1, that no other holder has at this time.  Of
        other locks -1."""
        return self._held().slot

    def ensure_held(self, timeout: float = 0) -> None:
        """Ask the store whether the lock is still yours.  LockLost: no.  StoreDown or LockTimeout:
        nobody knows.  With a timeout of 0 the store is asked once."""
        handle = self._held()
        handle.client._check(_c.lib.hf_check(handle, milliseconds(timeout)))

    def __repr__(self) -> str:
        state = "held" if self._born == _process.generation and self.is_held else "not held"
        return f"<holdfast.{type(self).__name__} {self.name!r} {state}>"

    @property
    def asked(self) -> Optional[str]:
        """Has somebody asked for this lock since it was acquired?  The last reason, which may be
        "", or None."""
        reason = ctypes.create_string_buffer(4096)
        if not _c.lib.hf_asked(self._held(), reason, len(reason)):
            return None
        return _c.text(reason.value)

    def _watch(self, handle: Handle) -> None:
        """The watcher must not keep the lock alive: a lock without references is released."""
        if handle.watched:
            return
        lock, watched = weakref.ref(self), weakref.ref(handle)
        for call, descriptor in ((_call_on_lost, _c.lib.hf_lost_fd),
                                 (_call_on_asked, _c.lib.hf_ask_fd)):
            fd = handle.client._check(descriptor(handle))
            _watcher.watcher.add(fd, functools.partial(call, lock, watched))
        handle.watched = True

    # ---- Handles ------------------------------------------------------------------------------

    def _forget_handles(self) -> None:
        """self._slot.handle is one for each thread if they can hold the lock together, else one for
        all."""
        self._making = threading.RLock()  # reentrant, for signal handlers
        self._slot: Any = threading.local() if self._each_thread else types.SimpleNamespace()
        self._made: weakref.WeakValueDictionary[int, Handle] = weakref.WeakValueDictionary()

    def _found(self) -> Optional[Handle]:
        """The handle of the calling thread, or None."""
        return getattr(self._slot, "handle", None)

    def _handle(self) -> Handle:
        """The handle of the calling thread, created if need be."""
        self._settle_in_process()
        handle = self._found()
        if handle is not None and not (handle.client.closed and self._own_client is None):
            return handle
        with self._making:
            found = self._found()
            if found is not handle and found is not None:  # created by another thread
                return found
            made = self._plan.make(self.client)
            if self._found() is handle:  # else a signal handler created one
                self._slot.handle = self._made[id(made)] = made
            return self._slot.handle  # type: ignore[no-any-return]

    def _handles(self) -> list[Handle]:
        found = [ref() for ref in self._made.valuerefs()]
        return [handle for handle in found if handle is not None]

    def _current(self) -> Optional[Handle]:
        """The handle that this task or thread holds, or else the only one that is held."""
        self._refuse_forked()
        place = self._task_place()[1]
        if place is not None:
            return place.handle
        handle = self._found()
        if handle is not None and handle.is_taken:
            return handle
        held = self._all_held()
        return held[0] if len(held) == 1 else None

    def _held(self) -> Handle:
        handle = self._current()
        if handle is None:
            raise NotHeld(_c.ESTATE, f"lock {self.name!r} is not held")
        if handle.left == 0:
            raise self._lost()
        return handle

    def _lost(self) -> LockLost:
        return LockLost(_c.ELOST, f"lock {self.name!r} is lost")

    def _all_held(self) -> list[Handle]:
        return [*(handle for handle in self._handles() if handle.is_taken),
                *(place.handle for place in self._by_task.copy().values() if place.count)]

    def _refuse_forked(self) -> None:
        if self._born != _process.generation and self._all_held():
            raise self._forked()

    def _settle_in_process(self) -> None:
        """After a fork the child cannot use the parent's handles, and creates new ones."""
        if self._born == _process.generation:
            return
        self._refuse_forked()
        self._forget_handles()
        self._by_task = {}
        self._born = _process.generation

    def _forked(self) -> ForkedError:
        return ForkedError(_c.EFORK, f"lock {self.name!r} was held by the parent process when "
                                     "this one was forked: it is not yours; make a new lock")

    def __getstate__(self) -> dict[str, Any]:
        if self._own_client is not None:
            raise TypeError("a lock with a client of its own cannot be pickled: give it a URL")
        if self._all_held():
            raise TypeError(f"lock {self.name!r} is held: it cannot be given to another process")
        return {"plan": self._plan, "timeout": self.timeout, "url": self._url,
                "on_lost": self._on_lost, "on_asked": self._on_asked}

    def __setstate__(self, state: dict[str, Any]) -> None:
        BaseLock.__init__(self, state["plan"], state["timeout"], state["url"], None,
                          state["on_lost"], state["on_asked"])


def _call_on_lost(lock: weakref.ref[BaseLock], watched: weakref.ref[Handle]) -> None:
    """Called by the watcher: the deadline passed, or somebody broke the lock.  Possibly both: call
    on_lost once."""
    held, handle = lock(), watched()
    if held is None or handle is None or held._on_lost is None or handle.reported:
        return
    _c.lib.hf_lost_fd(handle)  # waits until the loss is published
    if handle.is_taken and handle.left == 0:
        handle.reported = True
        held._on_lost(held)


def _call_on_asked(lock: weakref.ref[BaseLock], watched: weakref.ref[Handle]) -> None:
    held, handle = lock(), watched()
    if held is None or handle is None or held._on_asked is None:
        return
    if _c.lib.hf_asked(handle, None, 0):
        held._on_asked(held)
