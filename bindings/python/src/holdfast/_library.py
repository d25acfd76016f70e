"""Find and load the C library."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Mapping

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


def declare(library: ctypes.CDLL, prototypes: Mapping[str, tuple[Any, ...]]) -> None:
    """Tell ctypes what the functions return and take."""
    for name, (result, *arguments) in prototypes.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            version = library.hf_version
            version.restype = ctypes.c_char_p
            raise ImportError(
                f"{library._name} is Holdfast {version().decode()}, which is older than this "
                f"package: it has no {name}(). Install a newer library, or the package of the "
                "same version"
            ) from None
        function.restype, function.argtypes = result, arguments
