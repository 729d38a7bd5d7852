"""C++ names for people: the demangler of the C++ runtime that is on the machine. Rust's names by our own.

``__cxa_demangle`` (Itanium C++ ABI, 3.4) of libstdc++ or libc++abi; 3 us a name. What it refuses
(135 of the 386,000 functions of libtorch_cpu with GCC 12's) goes to c++filt of the binutils, where that is installed;
and what both refuse, as they do some constraints of GCC 14 and later, is demangled without its constraints.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from ...errors import TargetError
from ...system.in_thread import run
from ...system.patience import patient
from ...toolchains.rust.names import demangle_rust

_TYPE_CONSTRAINT = re.compile(rb"Tk(?:St)?([1-9]\d{0,3})")


def without_constraints(name: bytes) -> Iterator[bytes]:
    """What the name may be without its constraints, the likeliest first. One that can be demangled is right.

    Where a letter is part of an identifier what is left is no mangled name: the length before it is wrong.
    """
    body, dot, clones = name.partition(b".")
    free = _without_concepts(body)
    if free != body:
        yield free + dot + clones
    for clause in re.finditer(b"Q", free):
        yield free[: clause.start()] + dot + clones


def _without_concepts(body: bytes) -> bytes:
    """Without the concepts that have no scope and no arguments: nothing later refers to them by number."""
    kept = []
    at = 0
    while found := _TYPE_CONSTRAINT.search(body, at):
        end = found.end() + int(found[1])
        if body[end : end + 1] == b"I":
            return body
        kept.append(body[at : found.start()])
        at = end
    return b"".join([*kept, body[at:]])


RUNTIMES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1")
_MANGLED = ("_R", "_Z")
_FILTER_SECONDS = patient(10.0)


def demangle(name: str) -> str:
    """The C++ declaration that ``name`` stands for, or ``name`` itself when it is not mangled."""
    return demangle_all([name.encode("utf-8", "surrogateescape")])[0] if name.startswith(_MANGLED) else name


def demangle_all(names: Iterable[bytes]) -> list[str]:
    """Like :func:`demangle` for many raw names, in their order."""
    one = _demangler()
    refused: list[tuple[int, bytes]] = []
    texts: list[str] = []
    for name in names:
        text = None
        if name.startswith((b"_R", b"_Z")):
            text = demangle_rust(name.decode("utf-8", "replace")) or one(name)
        if text is None:
            text = name.decode("utf-8", "surrogateescape")
            if name.startswith(b"_Z"):
                refused.append((len(texts), name))
        texts.append(text)
    if refused:
        filtered = _filter(frozenset(name for _, name in refused))
        for index, name in refused:
            text = filtered.get(name, texts[index])
            if text == texts[index]:
                text = next(filter(None, map(one, without_constraints(name))), text)
            texts[index] = text
    return texts


def demangler_is_there() -> bool:
    """False on a machine without a C++ runtime and binutils, where C++ names stay mangled."""
    return _runtime() is not None or shutil.which("c++filt") is not None


@lru_cache(maxsize=256)
def _filter(names: frozenset[bytes]) -> dict[bytes, str]:
    """What c++filt makes of the names; nothing without it."""
    program = shutil.which("c++filt")
    if program is None:
        return {}
    ordered = sorted(names)
    try:
        done = run(
            [program],
            input=b"\n".join(ordered) + b"\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_FILTER_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired, TargetError):  # the names stay mangled
        return {}
    if done.returncode:
        return {}
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return dict(zip(ordered, lines, strict=True)) if len(lines) == len(ordered) else {}


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
