"""What the core asks a toolchain; each answer has a default, which is that of C and C++."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from ..model import NativeFrame
    from ..shared.symbol_table import SymbolTable
    from ..symbols.names.name_query import Query

# The language of a function, and what its author calls it: None where that is its demangled name.
NamedFunction = tuple[str | None, str | None]


class HasSymbolTables(Protocol):
    """A library, as far as toolchains ask it."""

    @property
    def tables(self) -> list[SymbolTable]:
        """Its symbol tables."""
        ...


class Toolchain:
    """A language, a compiler or a framework whose code is recognised."""

    language: ClassVar[str]  # as frames and symbols have it
    glue_sources: ClassVar[tuple[str, ...]] = ()  # endings of the author's files whose lines glue has too
    # Whether a step ends by the author's lines, because gdb's line table tells too little.
    steps_by_lines: ClassVar[bool] = False

    def function_named(self, table: SymbolTable, linkage: str, name: str) -> NamedFunction | None:
        """Return language and author's name of a function by its linkage name and demangled name; None if not ours."""
        return None

    def region_owner(self, table: SymbolTable, name: str) -> str | None:
        """Return the author's name of the function that an OpenMP region was in; None if it is not ours."""
        return None

    def strings_named(self, table: SymbolTable, query: Query) -> dict[int, str]:
        """Map the file offsets of the strings that ``query`` means in this toolchain's names to demangled text."""
        return {}

    def frame_named(
        self, frame: NativeFrame, function: str | None, objfile: HasSymbolTables | None
    ) -> NativeFrame | None:
        """Return a frame that has a line by the author's names; None if the core names it.

        ``function`` is what the symbol table of ``objfile`` calls it.
        """
        return None

    def bodies_inlined(self, name: str) -> tuple[str, ...]:
        """Return what the author's functions are called that may be inlined into a wrapper of this demangled name."""
        return ()

    def author_of_line(
        self, objfile: HasSymbolTables, function: str, file: str | None, line: int
    ) -> str | None:
        """Return the author's name of a function by its linkage name, if the line is one of its body; else None."""
        return None
