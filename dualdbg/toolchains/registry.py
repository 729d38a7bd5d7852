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
from .toolchain import NamedFunction, Toolchain

TOOLCHAINS: tuple[Toolchain, ...] = (Rust(), Cython(), Fortran())

_OUTLINED = re.compile(
    r"(?P<name>.+?)(?: \[clone)?[ .]+(?:\._?)?(?:_?omp_fn|omp_outlined(?:_debug__)?)[.\d]*\]?$"
)


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
