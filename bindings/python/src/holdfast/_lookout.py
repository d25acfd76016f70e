"""Telling programs that a lock was lost, or is asked for.

The library has a descriptor for each, which becomes readable.  One thread of ours polls those of
all locks that have a callback.  So a lock without one costs nothing, and a callback is ordinary
Python code in an ordinary thread.

A descriptor is looked at from when its handle is first acquired until that is freed, which closes
it.  Whether there is anything to tell, the callback finds out.
"""
from __future__ import annotations

import os
import select
import sys
import threading
from typing import Callable, Optional


class Lookout:
    """Calls functions each time descriptors become readable."""

    def __init__(self) -> None:
        self._mutex = threading.RLock()  # a signal handler may come here again
        self._calls: dict[int, Callable[[], None]] = {}
        self._epoll = select.epoll()
        self._thread: Optional[threading.Thread] = None

    def add(self, fd: int, call: Callable[[], None]) -> None:
        with self._mutex:
            self._calls[fd] = call
            # Edges: one for each loss, and for each time that somebody asks.
            try:
                self._epoll.register(fd, select.EPOLLIN | select.EPOLLET)
            except FileExistsError:  # by an add() that was interrupted
                self._epoll.modify(fd, select.EPOLLIN | select.EPOLLET)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="holdfast-lookout",
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
                except BaseException:  # as of any thread; the others are still to be told
                    threading.excepthook(threading.ExceptHookArgs(
                        (*sys.exc_info(), threading.current_thread())))


lookout = Lookout()


def _after_fork() -> None:
    """In the child: the thread is not there, and the descriptors are the parent's."""
    global lookout
    lookout = Lookout()


os.register_at_fork(after_in_child=_after_fork)
