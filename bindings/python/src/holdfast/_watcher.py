"""Calls on_lost and on_asked.

The library has a descriptor for each, which becomes readable.  One thread of this package polls the
descriptors of all locks that have a callback.  So a lock without callbacks costs nothing, and a
callback is ordinary Python code in an ordinary thread.

A descriptor is polled from the first acquire of its handle until the handle is freed, which closes
it.  The callback checks whether there is anything to report.
"""
from __future__ import annotations

import os
import select
import sys
import threading
from typing import Callable, Optional


class Watcher:
    """Calls functions each time descriptors become readable."""

    def __init__(self) -> None:
        self._mutex = threading.RLock()  # reentrant, for signal handlers
        self._calls: dict[int, Callable[[], None]] = {}
        self._epoll = select.epoll()
        self._thread: Optional[threading.Thread] = None

    def add(self, fd: int, call: Callable[[], None]) -> None:
        with self._mutex:
            self._calls[fd] = call
            # Edges: one for each loss, and for each time that somebody asks.
            try:
                self._epoll.register(fd, select.EPOLLIN | select.EPOLLET)
            except FileExistsError:  # an earlier add() was interrupted
                self._epoll.modify(fd, select.EPOLLIN | select.EPOLLET)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="holdfast-watch",
                                                daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            for fd, _ in self._epoll.poll():
                call = self._calls.get(fd)
                if call is None:
                    continue
                try:
                    call()
                except BaseException:  # as in any thread; the other callbacks must still run
                    threading.excepthook(threading.ExceptHookArgs(
                        (*sys.exc_info(), threading.current_thread())))


watcher = Watcher()


def _after_fork() -> None:
    """In the child: there is no such thread, and the descriptors belong to the parent."""
    global watcher
    watcher = Watcher()


os.register_at_fork(after_in_child=_after_fork)
