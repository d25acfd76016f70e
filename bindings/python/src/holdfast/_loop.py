"""A client that a running asyncio loop drives: no thread of ours, nothing waits.

The loop polls the library's descriptor and calls hf_process().  There is one client for each
loop and URL.  It is opened when a task first asks for a lock there, and closed when the loop
shuts down, as asyncio.run() does at its end.
"""
from __future__ import annotations

import asyncio
import collections
from typing import Any, AsyncGenerator, Callable, Optional

from . import _c, _process
from ._client import Client
from ._errors import InvalidArgument
from ._handle import Handle

ASKED = -1  # besides the library's states: somebody asks for the lock
Told = Callable[[int, int], None]  # what a lock is told: its state, and why


class LoopClient(Client):
    """One session, driven by one loop.  Only for the thread of that loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, url: Optional[str] = None,
                 **options: Any) -> None:
        self.loop = loop
        self._told: dict[int, Told] = {}  # by the address of the handle
        self._news: collections.deque[tuple[int, int, int]] = collections.deque()
        self._turn: Optional[asyncio.Handle] = None
        self._timer: Optional[asyncio.TimerHandle] = None
        self._on_state = _c.ON_STATE(self._note)  # kept here: the library does not keep them
        self._on_ask = _c.ON_ASK(self._note_asked)
        super().__init__(url, **options)
        self._fd = self._check(_c.lib.hf_fd(self._pointer))
        loop.add_reader(self._fd, self._process)

    def _prepare(self, options: _c.Options) -> None:
        options.flags |= _c.NO_KEEPER
        options.on_state = self._on_state
        options.on_ask = self._on_ask

    def _note(self, lock: int, state: int, why: int, _data: Any) -> None:
        """Called from inside hf_process(): nothing is done here that can fail."""
        self._news.append((lock, state, why))

    def _note_asked(self, lock: int, _reason: bytes, _data: Any) -> None:
        self._news.append((lock, ASKED, 0))

    def tell(self, handle: Handle, told: Told) -> None:
        """From now on, what happens to this handle is told here."""
        self._told[handle.pointer.value or 0] = told

    def drop(self, handle: Handle) -> None:
        """Give up what it has or waits for, and free it.  The store is told in later turns."""
        address = handle.pointer.value or 0
        self._told.pop(address, None)
        for news in [news for news in self._news if news[0] == address]:
            self._news.remove(news)  # the next handle may have the same address
        handle._free()
        self.turn()

    def turn(self) -> None:
        """Work is left for the library: once for all that is left in this step of the loop."""
        if self._turn is None and not self.closed and not self.loop.is_closed():
            self._turn = self.loop.call_soon(self._process)

    def _process(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        if self.closed or self._born != _process.generation:
            return
        _c.lib.hf_process(self._pointer)
        while self._news:
            lock, state, why = self._news.popleft()
            told = self._told.get(lock)
            if told is not None:
                told(state, why)
        self._wind()

    def _wind(self) -> None:
        """Come back when the library wants to, at the latest."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        ms = -1 if self.closed else _c.lib.hf_timeout_ms(self._pointer)
        if ms >= 0:
            self._timer = self.loop.call_later(ms / 1000, self._process)

    def _close(self, limit: float) -> None:
        """The loop is let alone, unless it is another process's: a forked child shares the
        parent's epoll, and must not touch it."""
        if self._born == _process.generation and not self.loop.is_closed():
            self.loop.remove_reader(self._fd)
            for planned in (self._turn, self._timer):
                if planned is not None:
                    planned.cancel()
        self._told.clear()
        super()._close(limit)


# ---- One for each loop and URL --------------------------------------------------------------

_Key = tuple[int, Optional[str]]
_clients: dict[_Key, tuple[LoopClient, AsyncGenerator[None, None]]] = {}


async def loop_client(url: Optional[str]) -> LoopClient:
    """The client of the running loop for this URL."""
    loop = asyncio.get_running_loop()
    _forget_closed_loops()
    found = _clients.get((id(loop), url))
    if found is not None and not found[0].closed:
        return found[0]
    client = LoopClient(loop, url)
    guard = _guard(client)
    _clients[id(loop), url] = client, guard
    # The loop ends every generator that it has seen begin: so it ends the client, too.
    await guard.__anext__()
    return client


async def _guard(client: LoopClient) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        client.close()


def _forget_closed_loops() -> None:
    """Loops that were closed without a shutdown, and those of the parent process."""
    for key, (client, _) in list(_clients.items()):
        if client.closed or client._born != _process.generation or client.loop.is_closed():
            del _clients[key]
            if not client.closed and client._born == _process.generation:
                client.close()


def check_loop(client: Client) -> LoopClient:
    """A client that was given by the caller, if the running loop drives it."""
    if not isinstance(client, LoopClient) or client.loop is not asyncio.get_running_loop():
        raise InvalidArgument(_c.EINVAL, "this client is driven by a thread, not by this loop: "
                                         "give a URL instead of the client")
    return client
