"""A client is one session in one store.

Most programs need no Client object: locks share a client for each URL, which is opened when it is
first needed and closed when the interpreter ends.  A forked child opens its own.
"""
from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import math
import os
import sys
import threading
import weakref
from types import TracebackType
from typing import Any, Callable, Iterator, Optional, Protocol

from . import _c, _library, _link, _process
from ._errors import ForkedError, InvalidArgument, error_of
from ._owned import NOTHING, Owned, wait_until_gone
from ._stats import Stats, stats_of


class Freeable(Protocol):
    """An object that belongs to a client and must be freed before it."""
    _as_parameter_: Any

    def _free(self) -> None: ...


class Client:
    """One session in one store.

    url       the store; None: $HOLDFAST_URL, else a file of your own
    ttl       seconds for which a dead holder blocks the others, on stores with a server
    note      free text, shown to others
    command   the program that runs under the lock, shown to others; None: this program's command
              line, or only its name where other users can read it
    guardian  start a small second process that releases the locks at once if this process dies; a
              string is the path of the holdfast program to start
    init      create what the URL names, where clients do not create it by themselves

    >>> with Client() as client:
    ...     with holdfast.Lock("nightly-report", client=client) as lock:
    ...         lock.is_held
    True
    """

    def __init__(self, url: Optional[str] = None, *, ttl: Optional[float] = None,
                 note: Optional[str] = None, command: Optional[str] = None,
                 guardian: bool | str = False, init: bool = False) -> None:
        self._as_parameter_: Any = NOTHING
        self._session: Optional[weakref.ref[Owned]] = None
        self._address = 0
        self._born = _process.generation
        self._parts: weakref.WeakValueDictionary[int, Freeable] = weakref.WeakValueDictionary()
        message = ctypes.create_string_buffer(1024)
        helper = guardian if isinstance(guardian, str) else _library.bundled_command() if guardian else None
        options = _c.Options(
            size=ctypes.sizeof(_c.Options),
            flags=(_c.GUARDIAN if guardian else 0) | (_c.INIT if init else 0),
            ttl_ms=0 if ttl is None else max(1, round(ttl * 1000)),
            command=encode(" ".join(sys.argv) if command is None else command),
            public_command=encode(os.path.basename(sys.argv[0]) if command is None else command),
            note=None if note is None else encode(note),
            guardian=encode(helper) if helper else None,
            error=ctypes.cast(message, ctypes.c_char_p), error_size=len(message))
        self._link = _link.LinkLog(_link.in_a_thread)
        self._on_link: Any = _c.ON_LINK(self._link.on_link)  # the library has no reference to it
        options.on_link = self._on_link
        self._prepare(options)
        self._as_parameter_ = Owned()
        r = _c.lib.hf_open(None if url is None else encode(url), ctypes.byref(options),
                           ctypes.byref(self._as_parameter_))
        if r < 0:
            self._as_parameter_ = NOTHING
            raise error_of(r, message=_c.text(message.value))
        self._address = self._as_parameter_.value or 0
        self._session = weakref.ref(self._as_parameter_)
        _sessions[self._address] = self._session
        _clients.add(self)

    def _prepare(self, options: _c.Options) -> None:
        """For subclasses, to change the options."""

    @property
    def url(self) -> str:
        """The URL of the store, without passwords."""
        self._use()
        return _c.text(_c.lib.hf_where(self))

    @property
    def stats(self) -> Stats:
        """What this client has counted since it was opened, for metrics.

        >>> with Client() as client:
        ...     client.stats.acquired
        0
        """
        return stats_of(self._use())

    @property
    def closed(self) -> bool:
        return not self._as_parameter_

    def close(self) -> None:
        """Release every lock of this client, and end the session.  Threads that wait for one get
        LockCanceled."""
        self._close(math.inf)

    def _close(self, limit: float) -> None:
        """Waits until no thread is in a call of the library, for `limit` seconds at most.  If a
        signal handler raises meanwhile, the next close() continues."""
        if self._session is None:
            return
        parts = [part for part in (ref() for ref in self._parts.valuerefs()) if part is not None]
        waited_for = [weakref.ref(part._as_parameter_) for part in parts
                      if isinstance(part._as_parameter_, Owned)]
        self._as_parameter_ = NOTHING
        if self._born == _process.generation:
            self._link.close()
        for part in parts:
            part._free()
        if self._born == _process.generation and not wait_until_gone(
                self._session, limit, functools.partial(_cancel_all, waited_for)):
            return
        if _sessions.pop(self._address, None) is self._session:
            _c.lib.hf_close(_c.Pointer(self._address))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_as_parameter_", None):
            quietly(self._close_alone)

    def _close_alone(self) -> None:
        """Without references.  A lock that had the last one may be about to go, in the call that
        called this: it needs the session until then, so only another thread can wait for that."""
        self._close(0)
        if self._session is not None and _sessions.get(self._address) is self._session:
            threading.Thread(target=self.close, daemon=True).start()

    def __repr__(self) -> str:
        return f"<holdfast.Client {'closed' if self.closed else self.url}>"

    def __reduce__(self) -> str:
        raise TypeError("a Client cannot be pickled: it is a session of this process")

    def _use(self) -> Any:
        """The pointer for calls of the library, if this process may use it."""
        if self._born != _process.generation:
            raise ForkedError(_c.EFORK, "this client was opened by the parent process: "
                                        "open another one in this process")
        if self.closed:
            raise _closed()
        return self._as_parameter_

    def _check(self, code: int, message: str = "") -> int:
        """Return the code, or raise if it is a failure."""
        if code >= 0:
            return code
        stop_at_the_end()
        if code == _c.EINVAL and self.closed:
            raise _closed()
        raise error_of(code, None if self.closed else self, message)


def _closed() -> InvalidArgument:
    return InvalidArgument(_c.EINVAL, "this client is closed")


def _cancel_all(handles: list[weakref.ref[Owned]]) -> None:
    for one in handles:
        _c.lib.hf_cancel(one())  # NULL is refused


def encode(value: str) -> bytes:
    """A string for the library."""
    if not isinstance(value, str):
        raise TypeError(f"a string is needed, not {value!r}")
    data = value.encode(errors="surrogateescape")
    if b"\0" in data:
        raise InvalidArgument(_c.EINVAL, "a string has a null character in it")
    return data


def load(url: Optional[str] = None) -> None:
    """Load the libraries that the store of this URL needs, now: for programs that chroot or drop
    privileges before their first lock.

    >>> load("sqlite:locks.db")
    """
    text = ctypes.create_string_buffer(512)
    r = _c.lib.hf_load(None if url is None else encode(url), text, len(text))
    if r < 0:
        raise error_of(r, message=_c.text(text.value))


def milliseconds(seconds: Optional[float]) -> int:
    """A time limit for the library: None and negative numbers are for ever."""
    if seconds is None:
        return -1
    if isinstance(seconds, (str, bytes)) or not hasattr(seconds, "__float__"):
        raise TypeError(f"a time limit is a number of seconds, not {seconds!r}")
    if seconds < 0:
        return -1
    if seconds != seconds:
        raise InvalidArgument(_c.EINVAL, "a time limit is not a number")
    if seconds > 1e12:
        return -1
    return max(1, round(seconds * 1000)) if seconds else 0


# ---- In callbacks -----------------------------------------------------------------------------

_thread = threading.local()


@contextlib.contextmanager
def callback() -> Iterator[None]:
    """Wraps the body of every callback."""
    _thread.called = True
    try:
        yield
    finally:
        _thread.called = False


def quietly(free: Callable[[], None]) -> None:
    """Free an object without references.  This may happen anywhere, even in a callback, where the
    library could not wait for the end of the callback: then another thread does it."""
    if getattr(_thread, "called", False):
        threading.Thread(target=free, daemon=True).start()
    else:
        free()


# ---- The clients that locks share -----------------------------------------------------------

_clients: weakref.WeakSet[Client] = weakref.WeakSet()
_sessions: dict[int, weakref.ref[Owned]] = {}  # to be closed, by address
_shared: dict[Optional[str], Client] = {}
_sharing = threading.RLock()  # reentrant, for signal handlers
_ending = False


def shared_client(url: Optional[str] = None) -> Client:
    """The client of this process for a URL; None: for the default store.  It is opened once, and
    closed when the interpreter ends."""
    with _sharing:
        client = _shared.get(url)
        if client is None or client.closed:
            made = Client(url)
            if _shared.get(url) is client:  # else a signal handler opened one
                _shared[url] = made
            client = _shared[url]
        return client


def _after_fork() -> None:
    """In the child: forget the clients of the parent.  The objects remain, and raise ForkedError."""
    global _sharing
    _sharing = threading.RLock()
    _shared.clear()
    _sessions.clear()


def _at_exit() -> None:
    """Close all clients, so that nobody waits for the lease of a program that ended normally.  If a
    daemon thread is stuck in a call, the end of the process must do."""
    global _ending
    _ending = True
    for client in list(_clients):
        if client._born == _process.generation:  # not those of the parent process
            client._close(2.0)


def stop_at_the_end() -> None:
    """When the interpreter ends, stop a daemon thread here, as the interpreter will a moment later:
    it must not raise because its wait was canceled by _at_exit()."""
    if _ending and threading.current_thread() is not threading.main_thread():
        threading.Event().wait()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)
