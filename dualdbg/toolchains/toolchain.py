"""What the core asks a toolchain; each answer has a default, which is that of C and C++."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ..shared.symbol_table import SymbolTable
    from ..symbols.names.name_query import Query

# The language of a function, and what its author calls it: None where that is its demangled name.
NamedFunction = tuple[str | None, str | None]


class Toolchain:
    """A language, a compiler or a framework whose code is recognised."""

    language: ClassVar[str]  # as frames and symbols have it

    def function_named(self, table: SymbolTable, linkage: str, name: str) -> NamedFunction | None:
        """Return language and author's name of a function by its linkage name and demangled name; None if not ours."""
        return None

    def region_owner(self, table: SymbolTable, name: str) -> str | None:
        """Return the author's name of a function out of which OpenMP has taken a region; None if not ours."""
        return None

    def strings_named(self, table: SymbolTable, query: Query) -> dict[int, str]:
        """Map the file offsets of the strings that ``query`` means in this toolchain's names to demangled text."""
        return {}
