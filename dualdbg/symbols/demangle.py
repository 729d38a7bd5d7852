"""C++ names for people: the demangler of the C++ runtime that is on the machine.

``__cxa_demangle`` (Itanium C++ ABI, 3.4) of libstdc++ or libc++abi; 3 us a name.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from functools import lru_cache

RUNTIMES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1")


def demangle(name: str) -> str:
    """The C++ declaration that ``name`` stands for, or ``name`` itself when it is not a mangled one."""
    if not name.startswith("_Z"):
        return name
    return _demangler()(name.encode("utf-8", "replace")) or name


def demangle_all(names: Iterable[bytes]) -> list[str]:
    """Like :func:`demangle` for many raw names, in their order."""
    one = _demangler()
    return [(name.startswith(b"_Z") and one(name)) or name.decode("utf-8", "replace") for name in names]


def is_available() -> bool:
    """False when the machine has no C++ runtime, so that C++ names stay mangled."""
    return _runtime() is not None


@lru_cache(maxsize=1)
def _runtime() -> ctypes.CDLL | None:
    for name in RUNTIMES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        if hasattr(library, "__cxa_demangle"):
            return library
    return None


@lru_cache(maxsize=1)
def _demangler() -> Callable[[bytes], str | None]:
    library = _runtime()
    if library is None:
        return lambda name: None
    call = library.__cxa_demangle
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    free = ctypes.CDLL(None).free
    free.restype = None
    free.argtypes = [ctypes.c_void_p]

    def one(name: bytes) -> str | None:
        text = call(name, None, None, None)
        if not text:
            return None
        try:
            return ctypes.string_at(text).decode("utf-8", "replace")
        finally:
            free(text)

    return one
