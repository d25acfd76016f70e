"""Find and load the C library."""
from __future__ import annotations

import ctypes
import os
import sysconfig
from typing import Any, Mapping, Optional

SONAME = "libholdfast.so.0.1"
BUNDLED = os.path.join(os.path.dirname(__file__), SONAME)  # in a wheel


def load() -> ctypes.CDLL:
    """The library that HOLDFAST_LIBRARY names, else that of the wheel, else the one that is
    installed."""
    chosen = os.environ.get("HOLDFAST_LIBRARY")
    usual = BUNDLED if os.path.exists(BUNDLED) else SONAME
    try:
        return ctypes.CDLL(chosen or usual, use_errno=False)
    except OSError as error:
        if chosen:
            raise ImportError(f"HOLDFAST_LIBRARY names {chosen}, which cannot be loaded: {error}")
        raise ImportError(
            f"{SONAME} is not installed: install the package libholdfast0.1, or let "
            f"HOLDFAST_LIBRARY name the file ({error})"
        ) from None


def bundled_command() -> Optional[str]:
    """The command that the wheel brought, which the library cannot find by itself."""
    if not os.path.exists(BUNDLED):
        return None
    for scheme in (None, f"{os.name}_user"):
        folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        path = os.path.join(folder or "", "holdfast")
        if os.access(path, os.X_OK):
            return path
    return None


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
