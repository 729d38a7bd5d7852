"""All scopes of a big library and the functions in them, kept on disk: Tab at a prompt is answered from it at once.

A line for each scope: its name, a tab, and what is in it, in words that are sorted: functions, and scopes with ``::``
behind them. A line without a name has what is in no scope. An empty line is the end, which a file that was cut short
does not have.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...shared.symbol_table import SymbolTable
from ...toolchains.rust.names import demangle_rust, rust_paths
from .. import cache
from . import cxx_names
from .demangle import demangle_all
from .name_beginnings import BEGINNING, ENOUGH, split_beginning

_FORMAT = 1  # a new number when the file holds other words than before
_SPECIAL = re.compile(rb"_ZZ|_ZG[VR]|_ZT")  # in functions, and what is no function of the source
_NESTED = re.compile(rb"_ZN[rVKRO]{0,4}(?=\d)")
_LENGTH = re.compile(rb"\d+")
_RUST_HASH = re.compile(r"h[0-9a-f]{16}")
_AT_ONCE = 5000  # names that are demangled together

Names = tuple[str, ...]
"""A function's name behind those of its scopes."""


class NameIndex:
    """The index of the library of this identity (see :attr:`Objfile.identity`), as its symbol tables are now."""

    def __init__(self, identity: str, tables: Iterable[SymbolTable]) -> None:
        sizes = "-".join(str(table.section.size) for table in tables)
        self._file = f"scopes{_FORMAT}-{identity}-{sizes}.txt"
        self._text: mmap.mmap | None = None

    def is_there(self) -> bool:
        """Whether it has been made, by any dualdbg."""
        if self._text is None:
            self._text = _mapped(cache.cache_directory() / self._file)
        return self._text is not None

    def keep(self, tables: Iterable[SymbolTable]) -> None:
        """Make it. Some seconds for libtorch. Raises OSError where there is no room."""
        scopes: dict[str, set[str]] = {}
        for table in tables:
            for path in _paths(table):
                for depth, name in enumerate(path, 1):
                    word = name if depth == len(path) else f"{name}::"
                    scopes.setdefault("::".join(path[: depth - 1]), set()).add(word)
        lines = (f"{scope}\t{' '.join(sorted(names))}\n" for scope, names in sorted(scopes.items()))
        cache.store(self._file, [b"\n", *(line.encode() for line in lines), b"\n"])

    def continuations(self, beginning: str) -> set[str]:
        """As :func:`name_beginnings.continuations`, of all tables. Only where it :meth:`is_there`."""
        parts = split_beginning(beginning)
        if parts is None or self._text is None or (not parts[0] and len(parts[1]) < ENOUGH):
            return set()
        scope, partial = parts
        before = f"{scope}::" if scope else ""
        return {before + name for name in self._names(scope) if name.startswith(partial)}

    def _names(self, scope: str) -> list[str]:
        assert self._text is not None
        head = f"\n{scope}\t".encode()
        at = self._text.find(head)
        if at < 0:
            return []
        return self._text[at + len(head) : self._text.find(b"\n", at + len(head))].decode().split()


def _mapped(path: Path) -> mmap.mmap | None:
    """The file, if it is there as a whole."""
    try:
        with path.open("rb") as file:
            text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # not made yet; empty
        return None
    return text if text[-2:] == b"\n\n" else None


# -- what is in a table --------------------------------------------------------------------------


def _paths(table: SymbolTable) -> Iterator[Names]:
    """The functions with their scopes, as users type them; of one that cannot be typed its scopes and an empty name."""
    seen: set[bytes] = set()
    waiting: list[bytes] = []
    for entry in table.functions():
        name = table.name(entry).partition(b"@")[0]
        if name in seen or _SPECIAL.match(name):
            continue
        seen.add(name)
        if name.startswith(b"_R"):
            yield from _of_rust(name)
        elif not name.startswith(b"_Z"):
            if BEGINNING.fullmatch(text := name.decode("utf-8", "replace")):
                yield (text,)
        elif b".cold" not in name:
            path = _nested(name)
            if path is not None:
                yield path
            else:
                waiting.append(name)
        if len(waiting) >= _AT_ONCE:
            yield from _demangled(waiting)
            waiting.clear()
    yield from _demangled(waiting)


def _of_rust(name: bytes) -> Iterator[Names]:
    text = demangle_rust(name.decode("utf-8", "replace"))
    for path in rust_paths(text) if text is not None else ():
        yield from _typed(path)


def _nested(name: bytes) -> Names | None:
    """The path of a name whose scopes are plain words, as most are (Itanium C++ ABI, 5.1.4); None of any other."""
    begins = _NESTED.match(name)
    if begins is None:
        return None
    at = begins.end()
    parts: list[str] = []
    while name[at : at + 1] != b"E":
        length = _LENGTH.match(name, at)
        if length is None:
            return None
        at = length.end() + int(length.group())
        parts.append(name[length.end() : at].decode("ascii", "replace"))
    if _RUST_HASH.match(parts[-1]) or not all(map(_is_plain, parts)):
        return None
    return tuple(part for part in parts if part not in cxx_names.TRANSPARENT)


def _is_plain(part: str) -> bool:
    return BEGINNING.fullmatch(part) is not None and not part.startswith("_GLOBAL_")  # an unnamed namespace


def _demangled(names: list[bytes]) -> Iterator[Names]:
    for name, text in zip(names, demangle_all(names), strict=True):
        if name.startswith(b"_ZN") and (rust := demangle_rust(name.decode("utf-8", "replace"))) is not None:
            for path in rust_paths(rust):
                yield from _typed(path)
        elif not text.startswith("_Z"):
            parsed = cxx_names.parse(text)
            if not parsed.special:
                yield from _typed(part for part in parsed.bases if part not in cxx_names.TRANSPARENT)


def _typed(path: Iterable[str]) -> Iterator[Names]:
    """The path as far as it can be typed: the rest of it makes scopes of these."""
    parts: list[str] = []
    for part in path:
        if not BEGINNING.fullmatch(part):
            if parts:
                yield (*parts, "")
            return
        parts.append(part)
    if parts:
        yield tuple(parts)
