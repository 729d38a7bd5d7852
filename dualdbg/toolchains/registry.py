"""The toolchains, in the order in which they are asked, and questions that all of them are asked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..shared.symbol_table import SymbolTable
from ..symbols.names import cxx_names
from ..symbols.names.name_query import Query
from .cython.functions import Cython
from .fortran.functions import Fortran
from .rust.functions import Rust
from .toolchain import HasSymbolTables, NamedFunction, Toolchain

TOOLCHAINS: tuple[Toolchain, ...] = (Rust(), Cython(), Fortran())
GLUE_SOURCES = tuple(ending for one in TOOLCHAINS for ending in one.glue_sources)

_BY_LANGUAGE = {one.language: one for one in TOOLCHAINS}
_DEFAULT = Toolchain()

_OUTLINED = re.compile(
    r"(?P<name>.+?)(?: \[clone)?[ .]+(?:\._?)?(?:_?omp_fn|omp_outlined(?:_debug__)?)[.\d]*\]?$"
)


def toolchain_of(language: str | None) -> Toolchain:
    """Return the toolchain of a frame's or a symbol's language; for C, C++ and the unknown one with all defaults."""
    return _BY_LANGUAGE.get(language or "", _DEFAULT)


def author_of_line(objfile: HasSymbolTables, function: str, file: str | None, line: int) -> str | None:
    """Return the author's name of a function by its linkage name, if a toolchain says that the line is of its body."""
    names = (one.author_of_line(objfile, function, file, line) for one in TOOLCHAINS)
    return next((name for name in names if name is not None), None)


def function_named(table: SymbolTable, linkage: str, name: str) -> NamedFunction:
    """Return the language of a function and what its author calls it, by linkage name and demangled name.

    None where the name tells no language, or is as the author wrote it.
    """
    outlined = _OUTLINED.match(name) if "omp_" in linkage else None
    for toolchain in TOOLCHAINS if outlined is None else ():
        found = toolchain.function_named(table, linkage, name)
        if found is not None:
            return found
    if outlined is None:
        return ("c++" if linkage.startswith("_Z") else None), None
    short = cxx_names.parse(outlined["name"]).short
    owners = ((one.language, one.region_owner(table, short)) for one in TOOLCHAINS)
    language, owner = next((one for one in owners if one[1] is not None), (None, short))
    return language, f"{owner} [parallel region]"


def strings_named(table: SymbolTable, query: Query) -> Iterator[dict[int, str]]:
    """Yield, for each toolchain, the strings in the table that ``query`` means, by file offset, with demangled text."""
    if not query.exact and not query.is_linkage_name:
        for toolchain in TOOLCHAINS:
            yield toolchain.strings_named(table, query)
