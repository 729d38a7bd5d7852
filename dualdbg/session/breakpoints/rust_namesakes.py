"""Functions of Rust's own library that have the name of one of the author's: a bare name does not mean them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...known.binding_layers import is_rust_library
from ...symbols.address_space import LoadedFunction, Module
from ...toolchains.rust.functions import has_rust
from .function_locations import FunctionAt

# Crates that Rust's library is made with: they come with it into each program.
_INCLUDED = re.compile(
    r"<*(?:&(?:mut )?)?(?:hashbrown|gimli|addr2line|object|miniz_oxide|memchr|rustc_demangle)::"
)


def authors_of_rust(
    name: str, modules: Sequence[Module], wholes: list[LoadedFunction], inlined: list[FunctionAt]
) -> tuple[list[LoadedFunction], list[FunctionAt]]:
    """Of the functions of a name, and of those that were inlined, the author's; all where only the library has any, or
    the name has a scope.
    """
    rust = {
        module.path
        for module in modules
        if module.library is not None and has_rust(module.library.with_debug_info)
    }
    if "::" in name or not rust:
        return wholes, inlined
    own = [one for one in wholes if not _is_library(one.symbol.language, one.symbol.name)]
    own_inlined = [
        one
        for one in inlined
        if one.location.library not in rust or not _is_library("rust", one.location.function)
    ]
    return (own, own_inlined) if own or own_inlined else (wholes, inlined)


def _is_library(language: str | None, function: str | None) -> bool:
    included = language == "rust" and _INCLUDED.match(function or "") is not None
    return included or is_rust_library(language, function)
