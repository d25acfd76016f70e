"""A client that a running asyncio loop drives: no thread of ours, nothing waits.

The loop polls the library's descriptor and calls hf_process().  There is one client for each
loop and URL.  It is opened when a task first asks for a lock there, and closed when the loop
shuts down, as asyncio.run() does at its end.
"""
from __future__ import annotations

import asyncio
import collections
import ctypes
from typing import Any, AsyncGenerator, Callable, Optional

from . import _c, _process
from ._client import Client
from ._errors import InvalidArgument
from ._handle import Handle

# Of what a callback is told, only which lock it is about: the rest can be asked for.  So the
# callback is append() itself.  No line of Python is run inside the library, where a signal handler
# could raise, and the news would be lost.
_FIRST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

ASKED = -1  # besides the library's states: somebody asks for the lock
Told = Callable[[int, int], None]  # what a lock is told: its state, and why


class LoopClient(Client):
    """One session, driven by one loop.  Only for the thread of that loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, url: Optional[str] = None,
                 **options: Any) -> None:
        self.loop = loop
        self._told: dict[int, Told] = {}  # by the address of the handle
        self._changed: collections.deque[int] = collections.deque()  # addresses
        self._asked: collections.deque[int] = collections.deque()
        self._turn: Optional[asyncio.Handle] = None
        self._timer: Optional[asyncio.TimerHandle] = None
        self._fd = -1
        # Kept here: the library does not keep them.
        self._on_state = _FIRST(self._changed.append)
        self._on_ask = _FIRST(self._asked.append)
        super().__init__(url, **options)
        try:
            fd = self._check(_c.lib.hf_fd(self))
            loop.add_reader(fd, self._process)
        except BaseException:  # a loop that cannot poll descriptors
            self._close(0)
            raise
        self._fd = fd

    def _prepare(self, options: _c.Options) -> None:
        options.flags |= _c.NO_KEEPER
        options.on_state = ctypes.cast(self._on_state, _c.ON_STATE)
        options.on_ask = ctypes.cast(self._on_ask, _c.ON_ASK)

    def tell(self, handle: Handle, told: Told) -> None:
        """From now on, what happens to this handle is told here."""
        self._told[handle._as_parameter_.value or 0] = told

    def drop(self, handle: Handle) -> None:
        """Give up what it has or waits for, and free it.  The store is told in later turns."""
        address = handle._as_parameter_.value or 0
        self._told.pop(address, None)
        for news in (self._changed, self._asked):
            while address in news:
                news.remove(address)  # the next handle may have the same address
        handle._free()
        self.turn()

    def turn(self) -> None:
        """Work is left for the library: once for all that is left in this step of the loop."""
        if self._turn is None and not self.closed and not self.loop.is_closed():
            self._turn = self.loop.call_soon(self._process)

    def _process(self) -> None:
        self._turn = None
        if self.closed or self._born != _process.generation:
            return
        try:
            _c.lib.hf_process(self)
            self._tell_news()
            self._wind()
        except BaseException:  # a signal handler may raise anywhere: go on in the next step
            self.turn()
            raise

    def _tell_news(self) -> None:
        """What was told is forgotten afterwards: twice is as good as once, never is not."""
        while self._changed:
            lock = self._changed[0]
            if lock in self._told:
                self._told[lock](_c.lib.hf_state(lock), _c.lib.hf_why(lock))
            self._changed.popleft()
        while self._asked:
            if self._asked[0] in self._told:
                self._told[self._asked[0]](ASKED, 0)
            self._asked.popleft()

    def _wind(self) -> None:
        """Come back when the library wants to, at the latest."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        ms = -1 if self.closed else _c.lib.hf_timeout_ms(self)
        if ms >= 0:
            self._timer = self.loop.call_later(ms / 1000, self._process)

    def _close(self, limit: float) -> None:
        """The loop is let alone if it is another process's: a forked child shares the parent's
        epoll, and must not touch it.  Who waits is told that it is over."""
        told, self._told = self._told, {}
        if self._born == _process.generation and not self.loop.is_closed():
            if self._fd >= 0:
                self.loop.remove_reader(self._fd)
            for planned in (self._turn, self._timer):
                if planned is not None:
                    planned.cancel()
            for tell in told.values():
                tell(_c.IDLE, _c.ECANCELED)
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
            _clients.pop(key, None)
            if not client.closed and client._born == _process.generation:
                client.close()


def check_loop(client: Client) -> LoopClient:
    """A client that was given by the caller, if the running loop drives it."""
    if not isinstance(client, LoopClient) or client.loop is not asyncio.get_running_loop():
        raise InvalidArgument(_c.EINVAL, "this client is driven by a thread, not by this loop: "
                                         "give a URL instead of the client")
    return client
