"""Fencing: a file is refused to a holder that comes too late."""
from __future__ import annotations

import contextlib
import ctypes
import os
import time
from collections.abc import Iterator
from typing import Optional, Union

from . import _c
from ._client import milliseconds
from ._errors import InvalidArgument, error_of

PIECE = 200  # milliseconds: a signal handler has to wait that long at most


def _open(path: bytes, token: int, timeout: Optional[float]) -> int:
    """hf_fence_file(), in pieces: Python handles signals between them."""
    text = ctypes.create_string_buffer(512)
    limit = milliseconds(timeout)
    end = time.monotonic() + limit / 1000
    while True:
        left = max(1, round((end - time.monotonic()) * 1000)) if limit > 0 else limit
        piece = PIECE if limit < 0 else min(left, PIECE)
        fence = int(_c.lib.hf_fence_file(path, token, piece, text, len(text)))
        if fence >= 0:
            return fence
        if fence != _c.ETIMEOUT or 0 < limit and time.monotonic() >= end:
            raise error_of(fence, message=_c.text(text.value))


@contextlib.contextmanager
def fence_file(path: Union[str, bytes, os.PathLike[str]], token: int, *,
               timeout: Optional[float] = None) -> Iterator[None]:
    """Claim the file or folder `path`, and keep all other processes out until the end of the block.
    From then on lower tokens are refused: LockLost.  Claim it before you read it, and again for every
    change.  The highest token is kept in PATH.fence.

    >>> with Lock("report") as lock, fence_file(path, lock.token):
    ...     _ = open(path, "w").write("by the holder")
    >>> with fence_file(path, 1):  # doctest: +IGNORE_EXCEPTION_DETAIL
    ...     _ = open(path, "w").write("too late")
    Traceback (most recent call last):
        ...
    holdfast.LockLost: token 1 is stale
    """
    name = os.fsencode(path)
    if b"\0" in name:
        raise InvalidArgument(_c.EINVAL, "a string has a null character in it")
    if not 0 < token < 1 << 64:
        raise InvalidArgument(_c.EINVAL, "a token is a number from 1 to 2^64 - 1")
    fence = _open(name, token, timeout)
    try:
        yield
    finally:
        os.close(fence)
