"""Procedures of Fortran in a symbol table: compilers add to their names, and keep no case."""

from __future__ import annotations

import re
from pathlib import PurePath

from ...shared.elf import ElfFile
from ...shared.symbol_table import SymbolTable
from ...symbols.names.name_query import Query
from ..toolchain import NamedFunction, Toolchain

_FORTRAN_RUNTIMES = ("libgfortran", "libflang", "libifcore", "libFortranRuntime", "libnvf")
_FORTRAN_COMPILERS = (b"GNU Fortran", b"flang", b"Intel(R) Fortran")  # DW_AT_producer
_FORTRAN_LIBRARY = re.compile(r"blas|lapack|arpack|libmkl_|libflame|scalapack")
_FORTRAN = re.compile(r"[a-z][a-z\d_]*?[a-z\d]_{1,2}")
_FORTRAN_MODULE = re.compile(r"__(?P<module>[a-z]\w*?)_MOD_(?P<name>[a-z]\w*)")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


class Fortran(Toolchain):
    """Fortran's answers."""

    language = "fortran"

    def function_named(self, table: SymbolTable, linkage: str, name: str) -> NamedFunction | None:
        """Return the name without what compilers add; of a procedure in a module ``module::name``."""
        module = _FORTRAN_MODULE.fullmatch(linkage)
        if module is not None:
            return "fortran", f"{module['module']}::{module['name']}"
        if linkage.endswith("_") and _FORTRAN.fullmatch(linkage) and is_fortran(table.elf):
            return "fortran", linkage.rstrip("_")
        return None

    def strings_named(self, table: SymbolTable, query: Query) -> dict[int, str]:
        """Return the procedures of a name, whatever its letters' case."""
        return _fortran_strings(table, query.text.lower()) if is_fortran(table.elf) else {}


def is_fortran(elf: ElfFile) -> bool:
    """Whether Fortran is in this file, or what is called as Fortran is: by what it needs, its debug info, its name."""
    if any(name.startswith(_FORTRAN_RUNTIMES) for name in elf.needed):
        return True
    if _FORTRAN_LIBRARY.search(PurePath(elf.path).name):
        return True
    strings = elf.section(".debug_str")
    return strings is not None and any(
        elf.find(compiler, strings.offset, strings.end) >= 0 for compiler in _FORTRAN_COMPILERS
    )


def _fortran_strings(table: SymbolTable, name: str) -> dict[int, str]:
    """Compilers add one ``_`` or two to a name, and put the module before it; letters are small."""
    parts = name.split("::")
    if not all(_IDENTIFIER.fullmatch(part) for part in parts):
        return {}
    if len(parts) == 2:
        ways = [f"__{parts[0]}_MOD_{parts[1]}".encode()]
    elif len(parts) == 1:
        ways = [f"{name}_".encode(), f"{name}__".encode()]
    else:
        return {}
    found = {at: way.decode() for way in ways for at in table.strings.exact(way)}
    if len(parts) == 1:
        for offset, string in table.strings.ending(f"_MOD_{name}".encode()):
            if _FORTRAN_MODULE.fullmatch(text := string.decode("utf-8", "replace")):
                found[offset] = text
    return found
