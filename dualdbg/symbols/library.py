"""A library (or program) on disk: its functions by name, its names by address, and where it was loaded."""

from __future__ import annotations

import os
import resource
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from dualdbg.errors import SymbolError

from . import cxx_names
from .demangle import demangle, demangle_all
from .eh_frame import FrameTable
from .elf import ElfFile
from .search import Query, clone_suffix
from .symbol_table import STT_GNU_IFUNC, STT_TLS, Entry, SymbolTable

_RANK = {"global": 0, "unique": 0, "weak": 1, "local": 2}


@dataclass(frozen=True)
class Symbol:
    """A named place in a library.

    ``address`` is the link-time address (add the load bias for the one in the target; the offset
    in the thread's block for kind ``tls``); ``size`` is in bytes, 0 when the library does not say.
    ``kind`` is function, ifunc (``address`` is that of its resolver, which runs once) or data, tls.
    ``clone`` is the compiler's suffix (``.isra.0``), ``version`` a symbol version (``GLIBC_2.34``);
    ``aliases`` are other linkage names of the same address.
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

    @cached_property
    def short_name(self) -> str:
        """The qualified name without parameters and template arguments: ``at::native::randn``."""
        return cxx_names.parse(self.name).short

    @property
    def end(self) -> int:
        return self.address + self.size


class Library:
    """Symbols of one file. Use :meth:`open`, which shares what is already mapped."""

    def __init__(self, elf: ElfFile, symbols: SymbolTable | None = None) -> None:
        self.elf = elf
        self.path = elf.path
        self.table = symbols or SymbolTable.of(elf)
        self._at: dict[int, Symbol | None] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Library:
        """The library at ``path``; one object for as long as the file does not change.

        :class:`SymbolError` where it cannot be read.
        """
        name = os.fspath(path)
        try:
            status = Path(name).stat()
        except OSError:
            return cls(ElfFile.open(name))  # says why
        identity = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
        known = _opened.get(name)
        if known is None or known[0] != identity:
            known = _opened[name] = (identity, cls(ElfFile.open(name)))
        return known[1]

    # -- facts -------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        return self.elf.size

    @property
    def build_id(self) -> str | None:
        return self.elf.build_id

    @property
    def has_symtab(self) -> bool:
        return self.elf.has_symtab

    @property
    def has_debug_info(self) -> bool:
        return self.elf.has_debug_info

    @cached_property
    def frames(self) -> FrameTable:
        return FrameTable(self.elf)

    # -- by name -----------------------------------------------------------------------------

    def find_functions(self, name: str, *, exact: bool = False) -> list[Symbol]:
        """The functions defined here that ``name`` means, by address.

        ``name`` is a C name, a linkage name, a C++ name with or without scopes, template arguments
        and parameters, or a glob (``*`` within a scope, ``**`` across scopes). Scopes left out in
        front match any, as in gdb; a leading ``::`` says that there are none. ``exact`` compares the
        whole demangled text. ``.cold`` parts and PLT stubs are never meant.
        """
        return self._find(name, exact, SymbolTable.is_function)

    def find_data(self, name: str, *, exact: bool = False) -> list[Symbol]:
        """Like :meth:`find_functions`, for variables, tables and constants."""
        return self._find(name, exact, SymbolTable.is_data)

    def _find(self, name: str, exact: bool, wanted: Callable[[SymbolTable, Entry], bool]) -> list[Symbol]:
        if self.table is None or not name.strip():
            return []
        query = Query.of(name, exact)
        offsets = _matching_strings(self.table, query)
        entries = [entry for entry in self.table.with_names(offsets) if wanted(self.table, entry)]
        symbols = [self._symbol(entry, offsets[entry.name]) for entry in entries]
        return merge_aliases(symbol for symbol in symbols if not _is_cold(symbol))

    def _symbol(self, entry: Entry, name: str | None = None) -> Symbol:
        assert self.table is not None
        raw = self.table.name(entry).decode("utf-8", "replace")
        linkage, _, version = raw.partition("@")
        text = demangle(linkage) if name is None else name
        kind = "ifunc" if entry.type == STT_GNU_IFUNC else "function"
        if self.table.is_data(entry):
            kind = "tls" if entry.type == STT_TLS else "data"
        return Symbol(
            name=text,
            linkage_name=linkage,
            address=entry.value,
            size=entry.size,
            kind=kind,
            binding=entry.binding,
            library=self.path,
            clone=clone_suffix(linkage),
            version=version.lstrip("@") or None,
        )

    # -- by address --------------------------------------------------------------------------

    def symbol_at(self, vaddr: int) -> Symbol | None:
        """The function whose code contains the link-time address, where the library can tell."""
        return self.symbols_at([vaddr])[vaddr]

    def symbols_at(self, vaddrs: Iterable[int]) -> dict[int, Symbol | None]:
        """:meth:`symbol_at` for many addresses at once, for the price of few."""
        asked = set(vaddrs)
        unknown = asked - self._at.keys()
        if unknown:
            self._at.update(self._look_up(unknown))
        return {vaddr: self._at[vaddr] for vaddr in asked}

    def _look_up(self, vaddrs: set[int]) -> dict[int, Symbol | None]:
        table = self.table
        if table is None:
            return dict.fromkeys(vaddrs)
        frames = {vaddr: self.frames.find(vaddr) for vaddr in vaddrs}
        by_start: dict[int, list[Entry]] = {}
        for entry in table.with_values({fde.start for fde in frames.values() if fde is not None}):
            if table.is_function(entry):
                by_start.setdefault(entry.value, []).append(entry)
        result: dict[int, Symbol | None] = {}
        for vaddr, fde in frames.items():
            entries = by_start.get(fde.start, []) if fde is not None else []
            if not entries or not any(_covers(entry, vaddr) for entry in entries):
                entries = self._scan(vaddr) or entries
            result[vaddr] = self._best(entries)
        return result

    def _scan(self, vaddr: int) -> list[Entry]:
        """The functions that contain an address by their own size, where no frame entry names their start."""
        assert self.table is not None
        values, indices = self.table.functions_by_address
        at = bisect_right(values, vaddr) - 1
        start = values[at] if at >= 0 else 0
        same = []
        while at >= 0 and values[at] == start:
            same.append(self.table.entry(indices[at]))
            at -= 1
        by_size = [entry for entry in same if start <= vaddr < start + entry.size]
        # Assembler labels have no size: the table of all names is believed that nothing else starts between.
        return by_size or [entry for entry in same if entry.size == 0 and self.table.is_full]

    def _best(self, entries: list[Entry]) -> Symbol | None:
        merged = merge_aliases(self._symbol(entry) for entry in entries)
        return merged[0] if merged else None

    # -- where it is loaded ------------------------------------------------------------------

    def load_bias(self, mapping_start: int, mapping_offset: int) -> int:
        return load_bias(self.elf, mapping_start, mapping_offset)


_opened: dict[str, tuple[tuple[int, int, int, int], Library]] = {}


def load_bias(elf: ElfFile, mapping_start: int, mapping_offset: int) -> int:
    """What to add to a link-time address to get the one in the target.

    The arguments are those of any row of /proc/PID/maps that maps this file: where it starts, and its
    offset in the file. :class:`SymbolError` when no segment of the file is loaded from there, as
    happens when the file on disk is not the one that was mapped.
    """
    page = resource.getpagesize()
    loads = elf.loads()
    starts_here = [s for s in loads if s.offset // page * page == mapping_offset]
    holds_it = [s for s in loads if s.offset // page * page <= mapping_offset < s.offset + s.file_size]
    for segment in starts_here or holds_it:
        return mapping_start - mapping_offset + segment.offset - segment.address
    raise SymbolError(
        f"no segment of {elf.path} is loaded from offset {mapping_offset:#x}",
        "the file may have been replaced since it was loaded; restart the target",
    )


def merge_aliases(symbols: Iterable[Symbol]) -> list[Symbol]:
    """One symbol an address, ascending; names that stand for the same place become aliases.

    Of several, the one that other libraries see wins, then the shorter name.
    """
    by_address: dict[int, list[Symbol]] = {}
    for symbol in symbols:
        by_address.setdefault(symbol.address, []).append(symbol)
    merged = []
    for _, same in sorted(by_address.items()):
        same.sort(key=lambda s: (s.size == 0, _RANK[s.binding], len(s.linkage_name), s.linkage_name))
        others = tuple(
            dict.fromkeys(s.linkage_name for s in same[1:] if s.linkage_name != same[0].linkage_name)
        )
        merged.append(_with_aliases(same[0], others))
    return merged


def _with_aliases(symbol: Symbol, aliases: tuple[str, ...]) -> Symbol:
    return replace(symbol, aliases=aliases) if aliases else symbol


def _is_cold(symbol: Symbol) -> bool:
    return symbol.clone is not None and ".cold" in symbol.clone


def _covers(entry: Entry, vaddr: int) -> bool:
    """True unless the symbol's own size says that the address is behind it."""
    return entry.size == 0 or vaddr < entry.value + entry.size


# -- strings of the table ------------------------------------------------------------------------


def _matching_strings(table: SymbolTable, query: Query) -> dict[int, str]:
    """File offset -> demangled text of the strings in the table that the query means."""
    strings, plain = table.strings, query.plain
    if plain is not None and (query.is_linkage_name or strings.is_frequent(plain)):
        names = [(at, name) for at, name in strings.names(plain) if query.is_plain(name)]
        holding: Iterable[tuple[int, bytes]] = []
        if not query.is_linkage_name:
            holding = strings.holding(query.needles[0])
    else:
        names = []
        # A name without scopes may be one of C or of C++: both are found in one go.
        holding = strings.holding(plain or strings.rarest(query.needles or [b"_Z"]))
    candidates: list[tuple[int, bytes]] = []
    for begin, string in holding:
        if plain is not None and (at := string.rfind(plain)) >= 0 and query.is_plain(string[at:]):
            names.append((begin + at, string[at:]))
        candidates += query.candidates(begin, string)
    found = {at: demangle(name.partition(b"@")[0].decode("utf-8", "replace")) for at, name in names}
    texts = demangle_all(name.partition(b"@")[0] for _, name in candidates)
    found.update((at, text) for (at, _), text in zip(candidates, texts, strict=True) if query.matches(text))
    return found
