"""Says in the log that a store cannot be reached: a program that waits without a time limit would be
silent for ever.

The logger is "holdfast".  Unless the program sets up logging, Python prints its warnings to stderr.
"""
from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import Any, Callable

from . import _c

MOMENT = 0.4  # seconds; a shorter interruption is not worth a message
Later = Callable[[float, Callable[[], None]], Any]

_log = logging.getLogger("holdfast")


def in_a_thread(seconds: float, function: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, function)
    timer.daemon = True
    with contextlib.suppress(RuntimeError):  # the interpreter ends
        timer.start()


class LinkLog:
    """What the log says about one client's link to its store."""

    def __init__(self, later: Later) -> None:
        self._later = later
        self._lock = threading.Lock()
        self._since = 0.0  # when it went down; 0: it is up
        self._told = False
        self._why = ""

    def on_link(self, _client: Any, link: int, why: bytes, _data: Any) -> None:
        """Called by the library."""
        self.change(link, _c.text(why))

    def change(self, link: int, why: str) -> None:
        with self._lock:
            since, told = self._since, self._told
            if link == _c.LINK_UP:
                self._since, self._told = 0.0, False
            elif link == _c.LINK_DOWN:
                self._why = why
                self._since = since or time.monotonic()
        if link == _c.LINK_DOWN and not since:
            self._later(MOMENT, self._tell)
        if link == _c.LINK_UP and told:
            after = time.monotonic() - since
            self._later(0, lambda: _log.warning(  # not here: a handler may take its time
                "the store can be reached again, after %.1f s", after))

    def close(self) -> None:
        with self._lock:
            self._since, self._told = 0.0, False

    def _tell(self) -> None:
        with self._lock:
            if not self._since or self._told or time.monotonic() - self._since < MOMENT / 2:
                return
            self._told = True
        _log.warning("%s; trying again", self._why)
