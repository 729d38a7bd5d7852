"""Functions of Rust in a symbol table: found by their paths, and named so."""

from __future__ import annotations

import re

from ...known.binding_layers import RUST_RUNTIME, functions_of_macro
from ...shared.elf import ElfFile
from ...shared.symbol_table import SymbolTable
from ...symbols.names.name_query import Query
from ..toolchain import NamedFunction, Toolchain
from .debug_info import is_in_debug_info
from .names import demangle_rust, is_rust, short_rust_name

_RUSTC = b"rustc version"  # what rustc writes into .comment, which strip leaves in place
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


class Rust(Toolchain):
    """Rust's answers: two kinds of mangled names, and functions that PyO3's macros make around the author's."""

    language = "rust"

    def function_named(self, table: SymbolTable, linkage: str, name: str) -> NamedFunction | None:
        """Return the path of a function; the runtime's functions keep their names."""
        if is_rust(linkage):
            return "rust", _rust_name(table, name)
        return ("rust", None) if RUST_RUNTIME.match(linkage) and has_rust(table.elf) else None

    def bodies_inlined(self, name: str) -> tuple[str, ...]:
        """Return the functions behind what PyO3's macros make."""
        return functions_of_macro(name)

    def strings_named(self, table: SymbolTable, query: Query) -> dict[int, str]:
        """Return the functions whose path, or the end of it, was typed."""
        return _rust_strings(table, query) if has_rust(table.elf) else {}


def has_rust(elf: ElfFile) -> bool:
    """Whether rustc made some of this file."""
    comment = elf.section(".comment")
    return comment is not None and _RUSTC in elf.contents(comment)


def _rust_strings(table: SymbolTable, query: Query) -> dict[int, str]:
    needles = _IDENTIFIER.findall(query.text.rpartition(">::")[2])
    if not needles:
        return {}
    wanted = max(needles, key=len) if query.is_glob else needles[-1]
    found: dict[int, str] = {}
    for offset, string in table.strings.holding(wanted.encode()):
        if string.startswith((b"_R", b"_ZN")):
            text = demangle_rust(string.decode("utf-8", "replace"))
            if text is not None and query.matches_rust(text):
                found[offset] = text
    return found or _rust_wrappers(table, query, wanted)


def _rust_wrappers(table: SymbolTable, query: Query, wanted: str) -> dict[int, str]:
    """The functions that PyO3's macros made around the one that is meant, which the compiler put into them."""
    found = {}
    for offset, string in table.strings.holding(wanted.encode()):
        if b"__pymethod_" not in string and b"__pyfunction_" not in string:
            continue
        text = demangle_rust(string.decode("utf-8", "replace"))
        if text is not None and any(
            query.matches_rust(own) for own in functions_of_macro(short_rust_name(text))
        ):
            found[offset] = text
    return found


def _rust_name(table: SymbolTable, name: str) -> str:
    """What the author calls a function; also one of PyO3's macros, where the author's own is in it and nowhere else."""
    short = short_rust_name(name)
    own = functions_of_macro(short)
    return own[0] if own and not any(_has_rust_function(table, one) for one in own) else short


def _has_rust_function(table: SymbolTable, path: str) -> bool:
    """Whether a function of Rust has this path, one that was inlined too."""
    query = Query.of(f"::{path}")
    wrappers = _rust_wrappers(table, query, path.rpartition("::")[2])
    return bool(_rust_strings(table, query).keys() - wrappers.keys()) or is_in_debug_info(table.elf, path)
