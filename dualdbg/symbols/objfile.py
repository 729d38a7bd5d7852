"""A library (or program) on disk: its functions by name, its names by address, and where it was loaded."""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path

from ..known.namespaces import LIBRARIES
from ..shared.symbol_table import FUNCTIONS, Entry, SymbolTable
from .elf.eh_frame import FrameTable
from .elf.elf_file import ElfFile, Section
from .elf.split_debug import find_debug_file, mini_debug_info
from .names.demangle import demangler_is_there
from .names.name_beginnings import Known, continuations
from .names.name_index import NameIndex
from .names.name_lookup import entries_named, entries_remembered
from .names.name_memory import NameMemory
from .names.name_query import Query
from .names.symbol import Symbol, merge_aliases, symbol_of

__all__ = ["Objfile", "Symbol"]


_GCC_OR_LINKER = re.compile(rb"GCC:|Linker:|GNU ld|GNU gold|mold")  # in the section .comment
_MANY = 1000  # addresses that were looked up
_BIG_TABLE = 2_000_000  # bytes; answers from a symbol table of this size or larger are kept on disk
_INDEXED_TABLE = 200_000  # bytes; what a Tab searches in less takes a few milliseconds


class Objfile:
    """Symbols of one file. Use :meth:`open`, which shares what is already mapped."""

    def __init__(self, elf: ElfFile) -> None:
        self.elf = elf
        self.path = elf.path
        self._at: dict[int, Symbol | None] = {}
        self._in_names: dict[bytes, bool] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Objfile:
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
        """The size of the file in bytes."""
        return self.elf.size

    @property
    def build_id(self) -> str | None:
        """The build-id in hexadecimal; None without one."""
        return self.elf.build_id

    @property
    def has_symtab(self) -> bool:
        """Whether it has a full symbol table (.symtab), not only that of the dynamic linker."""
        return self.elf.has_symtab

    @property
    def has_debug_info(self) -> bool:
        """Whether it has DWARF of its own."""
        return self.elf.has_debug_info

    @cached_property
    def identity(self) -> str:
        """Names the contents for caches: the build-id and a hash of the layout.

        Tools such as patchelf move sections and leave the build-id as it was. Without a build-id, path and time
        of modification count.
        """
        layout = [(s.name, s.type, s.address, s.offset, s.size) for s in self.elf.sections]
        digest = hashlib.blake2b(repr(layout).encode(), digest_size=8)
        if self.build_id is None:
            digest.update(repr((self.path, self.elf.modified)).encode())
        return f"{self.build_id or 'nobuildid'}-{digest.hexdigest()}"

    @cached_property
    def keeps_parameters(self) -> bool:
        """Whether all callers in it pass what the names of functions tell: GCC, and nothing else, has made it.

        GCC gives what it makes anew another name. Clang leaves the name as it is where only one file sees the function,
        and puts nothing where a function is given what it does not use.
        """
        comments = [bytes(self.elf.view(one)) for one in self.elf.sections if one.name == ".comment"]
        makers = [maker for text in comments for maker in text.split(b"\0") if maker]
        return any(maker.startswith(b"GCC:") for maker in makers) and all(map(_GCC_OR_LINKER.match, makers))

    @cached_property
    def uses_torch(self) -> bool:
        """Whether it is a library of PyTorch, or links to one."""
        names = [self.elf.soname or Path(self.path).name, *self.elf.needed]
        return any(name.startswith(LIBRARIES) for name in names)

    @cached_property
    def debug_file(self) -> Path | None:
        """The split debug file of this library, where one is installed."""
        return find_debug_file(self.elf)

    @cached_property
    def with_debug_info(self) -> ElfFile:
        """The file that has its DWARF: itself, or its split debug file. Where there is none, itself.

        :raises SymbolError: the split debug file cannot be read.
        """
        if self.has_debug_info or self.debug_file is None:
            return self.elf
        return ElfFile.open(self.debug_file)

    @cached_property
    def tables(self) -> list[SymbolTable]:
        """The tables that together name the most: .symtab, from a split debug file if need be; else .dynsym."""
        own = SymbolTable.of(self.elf)
        if own is not None and own.is_full:
            return [own]
        if self.debug_file is not None:
            split = SymbolTable.of(ElfFile.open(self.debug_file))
            if split is not None and split.is_full:
                return [split]
        mini = mini_debug_info(self.elf)
        return [
            table for table in (own, SymbolTable.of(mini) if mini is not None else None) if table is not None
        ]

    @cached_property
    def frames(self) -> FrameTable:
        """Its table of call frame information, sorted by address."""
        return FrameTable(self.elf)

    # -- by name -----------------------------------------------------------------------------

    def find_functions(self, name: str, *, exact: bool = False, limit: int | None = None) -> list[Symbol]:
        """The functions defined here that ``name`` means, by address.

        ``name`` is a C name, a linkage name, a C++ name with or without scopes, template arguments
        and parameters, or a glob (``*`` within a scope, ``**`` across scopes). Scopes left out in
        front match any, as in gdb; a leading ``::`` says that there are none. ``exact`` compares the
        whole demangled text. ``.cold`` parts and PLT stubs are never meant.

        A name such as ``operator()`` means thousands: with ``limit``, the search ends after about so many matches,
        which may be any of them.
        """
        return self._find(name, exact, SymbolTable.is_function, limit)

    def has_in_names(self, letters: bytes) -> bool:
        """Whether these are in the linkage names that it defines or uses; a zero byte is before and behind a name."""
        if letters not in self._in_names:
            self.elf.check_unchanged()
            self._in_names[letters] = any(
                next(self.elf.find_all(letters, table.strings.start, table.strings.end), None) is not None
                for table in self.tables
            )
        return self._in_names[letters]

    def find_data(self, name: str, *, exact: bool = False) -> list[Symbol]:
        """Like :meth:`find_functions`, for variables, tables and constants."""
        return self._find(name, exact, SymbolTable.is_data)

    def continuations(self, beginning: str) -> set[str]:
        """What the beginning of a function's qualified name may go on to: see :func:`name_beginnings.continuations`.

        Where no index has been made (:meth:`keep_name_index`) a scope of a library as large as libtorch is searched
        through in 0.1 to 0.3 s, once.
        """
        self.elf.check_unchanged()
        if self.is_big and self._name_index.is_there():
            return self._name_index.continuations(beginning)
        return {
            name
            for table, known in zip(self.tables, self._known_scopes, strict=True)
            for name in continuations(table, beginning, known)
        }

    @property
    def is_big(self) -> bool:
        """Whether it has so many symbols that an index of their names is worth its place on disk."""
        return sum(table.section.size for table in self.tables) >= _INDEXED_TABLE

    def lacks_name_index(self) -> bool:
        """Whether an index is wanted and nobody has made it."""
        return self.is_big and demangler_is_there() and not self._name_index.is_there()

    def keep_name_index(self) -> None:
        """Make the index of all scopes: 10 s of processor time for libtorch. Raises OSError where there is no room."""
        self._name_index.keep(self.tables)

    @cached_property
    def _name_index(self) -> NameIndex:
        return NameIndex(self.identity, self.tables)

    @cached_property
    def _known_scopes(self) -> list[Known]:
        return [{} for _ in self.tables]

    def _find(
        self, name: str, exact: bool, wanted: Callable[[SymbolTable, Entry], bool], limit: int | None = None
    ) -> list[Symbol]:
        if not name.strip():
            return []
        self.elf.check_unchanged()
        query = Query.of(name, exact)
        if len(self.tables) == 1 and self.tables[0].section.size >= _BIG_TABLE:
            found = self._find_with_memory(self.tables[0], query, wanted, limit)
            return merge_aliases(symbol_of(self.tables[0], entry, self.path) for entry in found)
        return merge_aliases(
            symbol_of(table, entry, self.path)
            for table in self.tables
            for entry in entries_named(table, query, wanted, limit)
        )

    def _find_with_memory(
        self,
        table: SymbolTable,
        query: Query,
        wanted: Callable[[SymbolTable, Entry], bool],
        limit: int | None,
    ) -> list[Entry]:
        key = f"{wanted.__name__} {'exact' if query.exact else 'any'} {'::' * query.anchored}{query.text}"
        positions = self._memory.recall(key)
        known = None if positions is None else entries_remembered(table, query, wanted, positions)
        if known is not None:
            return known
        entries = entries_named(table, query, wanted, limit)
        if demangler_is_there() and (limit is None or len(entries) < limit):
            self._memory.keep(key, [entry.index for entry in entries])
        return entries

    @cached_property
    def _memory(self) -> NameMemory:
        return NameMemory(self.identity)

    # -- by address --------------------------------------------------------------------------

    def symbol_at(self, vaddr: int) -> Symbol | None:
        """The function whose code contains the link-time address, where the library can tell."""
        return self.symbols_at([vaddr])[vaddr]

    def symbols_at(self, vaddrs: Iterable[int]) -> dict[int, Symbol | None]:
        """:meth:`symbol_at` for many addresses at once, for the price of few."""
        asked = set(vaddrs)
        unknown = {
            vaddr for vaddr in asked if vaddr not in self._at
        }  # a difference would look at all that are known
        if unknown:
            self._at.update(self._look_up(unknown))
        return {vaddr: self._at[vaddr] for vaddr in asked}

    def has_function_type(self, vaddr: int) -> bool:
        """Whether a symbol at the link-time address has the type of a function: labels of assembler have none."""
        return any(entry.type in FUNCTIONS for table in self.tables for entry in table.starting_at(vaddr))

    def _look_up(self, vaddrs: set[int]) -> dict[int, Symbol | None]:
        self.elf.check_unchanged()
        frames = {vaddr: self.frames.find(vaddr) for vaddr in vaddrs}
        starts = {fde.start for fde in frames.values() if fde is not None}
        by_start: dict[int, list[tuple[SymbolTable, Entry]]] = {}
        for table in self.tables:
            for entry in self._functions_at(table, starts):
                by_start.setdefault(entry.value, []).append((table, entry))
        result: dict[int, Symbol | None] = {}
        for vaddr, fde in frames.items():
            entries = by_start.get(fde.start, []) if fde is not None else []
            if not any(_covers(entry, vaddr) for _, entry in entries) and not self._is_stub(vaddr):
                entries = [found for table in self.tables for found in _containing(table, vaddr)] or entries
            merged = merge_aliases(symbol_of(table, entry, self.path) for table, entry in entries)
            result[vaddr] = merged[0] if merged else None
        return result

    def _functions_at(self, table: SymbolTable, starts: set[int]) -> list[Entry]:
        """The functions that begin at these addresses. For who asks often the table is put in order first."""
        if len(self._at) < _MANY:
            return [entry for entry in table.with_values(starts) if table.is_function(entry)]
        values, indices = table.functions_by_address
        rows = (range(bisect_left(values, one), bisect_right(values, one)) for one in starts)
        return [table.entry(indices[at]) for row in rows for at in row]

    def _is_stub(self, vaddr: int) -> bool:
        """True within the PLT, whose stubs have no symbols."""
        return any(section.address <= vaddr < section.address + section.size for section in self._stubs)

    @cached_property
    def _stubs(self) -> list[Section]:
        return [section for section in self.elf.sections if section.name.startswith(".plt")]


_opened: dict[str, tuple[tuple[int, int, int, int], Objfile]] = {}


def _containing(table: SymbolTable, vaddr: int) -> list[tuple[SymbolTable, Entry]]:
    """The functions with one start whose size reaches past the address; no frame entry names their start."""
    values, indices = table.functions_by_address
    at = bisect_right(values, vaddr) - 1
    start = values[at] if at >= 0 else 0
    same = []
    while at >= 0 and values[at] == start:
        same.append((table, table.entry(indices[at])))
        at -= 1
    by_size = [(table, entry) for _, entry in same if start <= vaddr < start + entry.size]
    # Assembler labels have no size. The table of all names says that nothing else starts in between.
    return by_size or [
        (table, entry)
        for _, entry in same
        if entry.size == 0 and table.is_full and table.is_in_section(entry, vaddr)
    ]


def _covers(entry: Entry, vaddr: int) -> bool:
    """True unless the symbol's own size says that the address lies behind its end."""
    return entry.size == 0 or vaddr < entry.value + entry.size
