"""`async with`: a lock that a task of asyncio holds.

Every task has a place of its own in the queue, and may acquire the same lock again while it holds it.
A task that is canceled while it waits leaves the queue; one that is canceled just after the grant
releases the lock.
"""
from __future__ import annotations

import asyncio
import contextlib
import functools
from types import TracebackType
from typing import Any, Callable, Mapping, Optional, TypeVar

from . import _c
from ._client import Client, milliseconds
from ._errors import HoldfastError, LockCanceled, LockLost, NotHeld, error_of, add_note
from ._explain import EXPLAINED, explain
from ._handle import Handle, Plan
from ._loop import ASKED, LoopClient, check_loop, loop_client

Callback = Callable[[], Any]
T = TypeVar("T", bound="TaskSide")


class TaskPlace:
    """The place of one task in one queue, from acquire to release."""

    def __init__(self, plan: Plan, client: LoopClient, calls: Mapping[int, Callback]) -> None:
        self.plan = plan
        self._calls = calls  # callbacks for LOST and ASKED
        self.client = client
        self.handle: Handle = plan.make(client)
        self.count = 0
        self._wait: Optional[asyncio.Future[int]] = None
        client.listen(self.handle, self._on_event)

    def _on_event(self, state: int, why: int) -> None:
        """Called by the client, in the loop."""
        wait = self._wait
        if wait is None or wait.done():
            if self.count and state in self._calls:
                self.client.loop.call_soon(self._calls[state])  # later, since it may do anything
        elif state == _c.HELD:
            wait.set_result(0)
        elif state in (_c.IDLE, _c.LOST) or why < 0:  # LEAVING: not granted in time
            wait.set_result(why)

    async def acquire(self, limit: int) -> None:
        await self._end(_c.lib.hf_acquire_start, limit)
        self.count = 1

    async def release(self) -> None:
        """LockLost: the lock was not ours to the end.  If the client is closed, or is closed
        meanwhile, that has released it."""
        try:
            await self._end(_c.lib.hf_release_start)
        except LockCanceled:
            return
        self.client.drop(self.handle)

    async def _end(self, start: Callable[..., int], *arguments: int) -> None:
        """Start an operation, and wait for its end.  If that fails, or the task is canceled, the place
        is given up."""
        if self.client.closed:
            raise self._error(_c.ECANCELED)
        try:
            result = start(self.handle, *arguments)
            if result == 0:
                self._wait = self.client.loop.create_future()
                self.client.turn()
                result = await self._wait
        except BaseException:
            self.client.drop(self.handle)
            raise
        finally:
            self._wait = None
        if result < 0:
            error = self._error(result)
            self.client.drop(self.handle)
            if result in EXPLAINED:  # in a thread: the loop keeps running
                with contextlib.suppress(RuntimeError):  # the loop has no threads any more
                    text = await asyncio.to_thread(explain, self.client, result, *self.plan.names)
                    error = error_of(result, message=text or error.message)
            raise error

    def _error(self, code: int) -> HoldfastError:
        """Many tasks share the client, so its last message may be about the lock of another task."""
        if code in (_c.EBUSY, _c.ETIMEOUT, _c.ELOST, _c.ECANCELED):
            text = _c.text(_c.lib.hf_strerror(code))
            return error_of(code, message=f"lock {self.plan.name!r}: {text}")
        return error_of(code, None if self.client.closed else self.client)


class TaskSide:
    """The methods of a lock for tasks."""

    timeout: Optional[float]
    _plan: Plan
    _url: Optional[str]
    _own_client: Optional[Client]
    _on_lost: Optional[Callable[[Any], Any]]
    _on_asked: Optional[Callable[[Any], Any]]

    def __init__(self) -> None:
        self._by_task: dict[asyncio.Task[Any], TaskPlace] = {}

    async def acquire_async(self, timeout: Optional[float] = None, *,
                            blocking: bool = True) -> None:
        """acquire() for a task: the loop keeps running, and no thread waits."""
        limit = 0 if not blocking else milliseconds(self.timeout if timeout is None else timeout)
        self._settle_in_process()
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("acquire_async() must be called by a task of asyncio")
        place = self._by_task.get(task)
        if place is not None:
            if place.handle.left == 0:
                raise self._lost()
            place.count += 1
            return
        if self._own_client is None:
            client = await loop_client(self._url)
        else:
            client = check_loop(self._own_client)
        calls = {state: functools.partial(call, self)
                 for state, call in ((_c.LOST, self._on_lost), (ASKED, self._on_asked)) if call}
        place = TaskPlace(self._plan, client, calls)
        await place.acquire(limit)
        self._by_task[task] = place

    async def release_async(self) -> None:
        """release() for a task.  LockLost: the lock was not yours to the end.

        The lock is released even if the task is canceled while it waits for the answer."""
        task, place = self._task_place()
        if place is None or task is None:
            raise NotHeld(_c.ESTATE, f"lock {self._plan.name!r} is not held by this task")
        place.count -= 1
        if place.count == 0:
            del self._by_task[task]
            await place.release()

    async def ensure_held_async(self, timeout: float = 0) -> None:
        """ensure_held() for a task: a thread asks the store, and the loop keeps running."""
        handle = self._held()
        limit = milliseconds(timeout)
        # Including its message, which only that thread can read.
        await asyncio.to_thread(lambda: handle.client._check(_c.lib.hf_check(handle, limit)))

    async def __aenter__(self: T) -> T:
        await self.acquire_async()
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]],
                        error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        """Like __exit__()."""
        try:
            await self.release_async()
        except HoldfastError as late:
            if error is None:
                raise
            add_note(error, f"lock {self._plan.name!r}: {late}")

    def _task_place(self) -> tuple[Optional[asyncio.Task[Any]], Optional[TaskPlace]]:
        """The task that acquired the lock, and its place: the running task or, if exactly one place
        belongs to a task that has ended, that task.  Before Python 3.12
        asyncio.wait_for(lock.acquire_async(), 5) creates such a task."""
        if not self._by_task:
            return None, None
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no loop runs in this thread
            return None, None
        if task is not None and task not in self._by_task:
            ended = [one for one in self._by_task.copy() if one.done()]
            task = ended[0] if len(ended) == 1 else None
        return task, self._by_task.get(task) if task is not None else None

    def _settle_in_process(self) -> None:
        raise NotImplementedError

    def _held(self) -> Handle:
        raise NotImplementedError

    def _lost(self) -> LockLost:
        raise NotImplementedError
