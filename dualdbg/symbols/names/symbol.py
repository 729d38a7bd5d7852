"""A named place in a library, as the rest of dualdbg sees it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from ...shared.symbol_table import STT_GNU_IFUNC, STT_TLS, Entry, SymbolTable
from ...toolchains.registry import function_named
from . import cxx_names
from .demangle import demangle
from .name_query import clone_suffix

_RANK = {"global": 0, "unique": 0, "weak": 1, "local": 2}


@dataclass(frozen=True)
class Symbol:
    """A function or variable of a library.

    ``address`` is the link-time address (add the load bias for the one in the target; for kind ``tls`` it is
    the offset in the thread's block); ``size`` is in bytes, 0 when the library does not say. ``kind``
    is function, ifunc (``address`` is that of its resolver, which runs once), data or tls.
    ``name`` is demangled, with parameters. ``clone`` is the compiler's suffix (``.isra.0``), ``version`` a symbol
    version (``GLIBC_2.34``); ``aliases`` are other linkage names of the same address. ``language`` is that of the
    source where the linkage name tells, and ``spoken`` what its author calls it, where that is neither C nor C++.
    """

    name: str
    linkage_name: str
    address: int
    size: int
    kind: str
    binding: str
    library: str
    clone: str | None = None
    version: str | None = None
    aliases: tuple[str, ...] = ()
    language: str | None = None
    spoken: str | None = None

    @cached_property
    def short_name(self) -> str:
        """The qualified name without parameters, template arguments and a compiler's suffix: ``at::native::randn``."""
        return self.spoken or cxx_names.parse(self.name).short.removesuffix(self.clone or "")

    @property
    def end(self) -> int:
        """The address behind its last byte."""
        return self.address + self.size


def symbol_of(table: SymbolTable, entry: Entry, library: str, name: str | None = None) -> Symbol:
    """The symbol of an entry; ``name`` is its demangled text where that is known already."""
    raw = table.name(entry).decode("utf-8", "replace")
    linkage, _, version = raw.partition("@")
    kind = "ifunc" if entry.type == STT_GNU_IFUNC else "function"
    if table.is_data(entry):
        kind = "tls" if entry.type == STT_TLS else "data"
    name = demangle(linkage) if name is None else name
    language, known_as = function_named(table, linkage, name) if kind == "function" else (None, None)
    return Symbol(
        name=name,
        linkage_name=linkage,
        address=entry.value,
        size=entry.size,
        kind=kind,
        binding=entry.binding,
        library=library,
        clone=clone_suffix(linkage),
        version=version.lstrip("@") or None,
        language=language,
        spoken=known_as,
    )


def merge_aliases(symbols: Iterable[Symbol]) -> list[Symbol]:
    """One symbol an address, ascending; names that stand for the same place become aliases.

    Of several, a function as it was written wins over a compiler's clone, a name that other
    libraries see over a local one, and the shorter name.
    """
    by_address: dict[tuple[str, int], list[Symbol]] = {}
    for symbol in symbols:
        by_address.setdefault((symbol.kind, symbol.address), []).append(symbol)
    merged = []
    for _, same in sorted(by_address.items()):
        first, *rest = sorted(same, key=_preference)
        names = dict.fromkeys(s.linkage_name for s in rest if s.linkage_name != first.linkage_name)
        merged.append(replace(first, aliases=tuple(names)) if names else first)
    return merged


def _preference(symbol: Symbol) -> tuple[bool, bool, int, int, str]:
    name = symbol.linkage_name
    return symbol.size == 0, symbol.clone is not None, _RANK[symbol.binding], len(name), name
