"""Find and load the C library."""
from __future__ import annotations

import ctypes
import os

SONAME = "libholdfast.so.0.1"


def load() -> ctypes.CDLL:
    """The library that HOLDFAST_LIBRARY names, else the one that is installed."""
    chosen = os.environ.get("HOLDFAST_LIBRARY")
    try:
        return ctypes.CDLL(chosen or SONAME, use_errno=False)
    except OSError as error:
        if chosen:
            raise ImportError(f"HOLDFAST_LIBRARY names {chosen}, which cannot be loaded: {error}")
        raise ImportError(
            f"{SONAME} is not installed: install the package libholdfast0.1, or let "
            f"HOLDFAST_LIBRARY name the file ({error})"
        ) from None
