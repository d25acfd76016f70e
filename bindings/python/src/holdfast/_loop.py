"""A client that runs in an asyncio loop, without threads or blocking calls.

The loop polls the library's descriptor and calls hf_process().  There is one client for each
loop and URL.  It is opened when a task first acquires a lock there, and closed when the loop
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
from ._link import LinkLog

# Of the arguments of a callback only the lock is kept: the rest can be read later.  So append()
# itself can be the callback, and no line of Python runs inside the library, where a signal handler
# could raise and the event would be lost.
_FIRST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_LINK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)

ASKED = -1  # in addition to the states of the library: somebody asks for the lock
OnEvent = Callable[[int, int], None]  # called with the state of a lock, and why


class LoopClient(Client):
    """One session that runs in one loop.  Only for the thread of that loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, url: Optional[str] = None,
                 **options: Any) -> None:
        self.loop = loop
        self._on_event: dict[int, OnEvent] = {}  # by the address of the handle
        self._changed: collections.deque[int] = collections.deque()  # addresses
        self._asked: collections.deque[int] = collections.deque()
        self._turn: Optional[asyncio.Handle] = None
        self._timer: Optional[asyncio.TimerHandle] = None
        self._fd = -1
        # The library keeps no references to them.
        self._on_state = _FIRST(self._changed.append)
        self._on_ask = _FIRST(self._asked.append)
        self._links: dict[Optional[int], int] = {}  # of this client: written by the library
        self._link_seen = _c.LINK_UP
        super().__init__(url, **options)
        self._link = LinkLog(loop.call_later)
        try:
            fd = self._check(_c.lib.hf_fd(self))
            loop.add_reader(fd, self._process)
        except BaseException:  # the loop cannot poll descriptors
            self._close(0)
            raise
        self._fd = fd

    def _prepare(self, options: _c.Options) -> None:
        options.flags |= _c.NO_KEEPER
        options.on_state = ctypes.cast(self._on_state, _c.ON_STATE)
        # Only the link: the text would need a line of Python.
        self._on_link = _LINK(self._links.__setitem__)
        options.on_link = ctypes.cast(self._on_link, _c.ON_LINK)
        options.on_ask = ctypes.cast(self._on_ask, _c.ON_ASK)

    def listen(self, handle: Handle, on_event: OnEvent) -> None:
        """Call on_event on every event of this handle."""
        self._on_event[handle._as_parameter_.value or 0] = on_event

    def drop(self, handle: Handle) -> None:
        """Give up the place of this handle, and free it.  The store is told in later turns."""
        address = handle._as_parameter_.value or 0
        self._on_event.pop(address, None)
        for events in (self._changed, self._asked):
            while address in events:
                events.remove(address)  # the next handle may have the same address
        handle._free()
        self.turn()

    def turn(self) -> None:
        """Have _process() called soon, once for all that happens in this step of the loop."""
        if self._turn is None and not self.closed and not self.loop.is_closed():
            self._turn = self.loop.call_soon(self._process)

    def _process(self) -> None:
        self._turn = None
        if self.closed or self._born != _process.generation:
            return
        try:
            _c.lib.hf_process(self)
            self._report_events()
            self._report_link()
            self._set_timer()
        except BaseException:  # a signal handler may raise anywhere: continue in the next step
            self.turn()
            raise

    def _report_events(self) -> None:
        """Remove an event only after the call: if a signal handler raises, it is reported twice
        rather than never."""
        while self._changed:
            lock = self._changed[0]
            if lock in self._on_event:
                self._on_event[lock](_c.lib.hf_state(lock), _c.lib.hf_why(lock))
            self._changed.popleft()
        while self._asked:
            if self._asked[0] in self._on_event:
                self._on_event[self._asked[0]](ASKED, 0)
            self._asked.popleft()

    def _report_link(self) -> None:
        link = next(iter(self._links.values()), _c.LINK_UP)
        if link != self._link_seen:
            self._link_seen = link
            self._link.change(link, f"{self.url} cannot be reached")

    def _set_timer(self) -> None:
        """For the next time that the library must be called."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        ms = -1 if self.closed else _c.lib.hf_timeout_ms(self)
        if ms >= 0:
            self._timer = self.loop.call_later(ms / 1000, self._process)

    def _close(self, limit: float) -> None:
        """Ends all waits.  In a forked child the loop is left alone: the child shares the epoll
        of its parent, and must not touch it."""
        listeners, self._on_event = self._on_event, {}
        if self._born == _process.generation and not self.loop.is_closed():
            if self._fd >= 0:
                self.loop.remove_reader(self._fd)
            for planned in (self._turn, self._timer):
                if planned is not None:
                    planned.cancel()
            for on_event in listeners.values():
                on_event(_c.IDLE, _c.ECANCELED)
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
    # A loop that shuts down closes all asynchronous generators: _guard() closes the client.
    await guard.__anext__()
    return client


async def _guard(client: LoopClient) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        client.close()


def _forget_closed_loops() -> None:
    """Close the clients of loops that were closed without a shutdown; forget those of the parent."""
    for key, (client, _) in list(_clients.items()):
        if client.closed or client._born != _process.generation or client.loop.is_closed():
            _clients.pop(key, None)
            if not client.closed and client._born == _process.generation:
                client.close()


def check_loop(client: Client) -> LoopClient:
    """The client, if it runs in the running loop."""
    if not isinstance(client, LoopClient) or client.loop is not asyncio.get_running_loop():
        raise InvalidArgument(_c.EINVAL, "this client uses a thread, not this loop: "
                                         "give a URL instead of the client")
    return client
