"""Where breakpoints on functions belong: each function of a name, and each place where the compiler inlined it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ...known.binding_layers import functions_of_macro
from ...known.short_names import in_source
from ...model import Location
from ...shared.requests.code import FindFunctionBody, FindFunctionInstances, FunctionAddress
from ...symbols.address_space import AddressSpace, LoadedFunction, Module
from ...symbols.elf.debug_names import may_name, was_optimised_whole
from ...symbols.gdb_feed.policy import Load
from ...symbols.names.cxx_names import ANONYMOUS, parse, split_component
from ...symbols.names.cxx_types import canonical_operator
from ...symbols.names.name_query import Query
from ...toolchains.cython.names import CythonName, cython_function
from ...toolchains.rust.debug_info import closure_in, meant_in_debug_info
from ...toolchains.rust.functions import has_rust
from ...toolchains.rust.names import demangle_rust, short_rust_name
from ..engines import NativeEngine
from ..inspect.stack_reader import StackReader
from ..inspect.symbol_policy import SymbolPolicy

_PART = re.compile(r"\.(?:part|resolver)\b")
_EXPANDED = 100_000_000  # bytes of debug info in which gdb looks for a name without its scopes
READ_WHOLE = 20_000_000  # bytes of debug info that gdb reads whole for a name that it does not find
_DELETING = re.compile(r"D0Ev$")  # Itanium C++ ABI, 5.1.4.3


@dataclass(frozen=True)
class FunctionAt:
    """A place of a function. ``hides``: it begins with code that was inlined into it. ``is_sure``: each call of the
    function there passes one of its places, and once.
    """

    location: Location
    hides: bool = False
    is_sure: bool = True

    @property
    def address(self) -> int:
        """Where the breakpoint goes."""
        assert self.location.address is not None
        return self.location.address


class FunctionLocations:
    """Asks the symbol tables, and gdb where there is debug info. Used only while gdb holds the target."""

    def __init__(
        self, native: NativeEngine, image: AddressSpace, reader: StackReader, policy: SymbolPolicy
    ) -> None:
        self._native = native
        self._image = image
        self._reader = reader
        self._policy = policy

    def wholes(self, places: list[LoadedFunction], inlined: Collection[str]) -> list[LoadedFunction]:
        """The places without those that are only a part of a function, where its beginning is a place too: as another
        place, or as one of the functions that are ``inlined``, by gdb's names for them.

        A destructor that also frees the memory calls the destructor itself, or has it inlined: debug info knows where.
        The same holds for what PyO3's macros and Cython make around a function.
        """
        functions = [one for one in map(cython_function, inlined) if one is not None]
        places = [place for place in places if not _only_calls(place, functions, bool(inlined))]
        wholes = [place for place in places if not (_is_part(place) or self._is_wrapper(place))]
        beginnings = {_whole_name(place) for place in wholes}
        beginnings |= {parse(one).short for one in inlined}
        return [place for place in places if place in wholes or _whole_name(place) not in beginnings]

    def _is_wrapper(self, place: LoadedFunction) -> bool:
        names = (place.symbol.linkage_name, *place.symbol.aliases)
        is_deleting = any(_DELETING.search(name) for name in names)
        return is_deleting and self._policy.decide(place.module).load is Load.WHOLE

    async def of_place(self, place: LoadedFunction) -> FunctionAt:
        """Where a breakpoint on this one function belongs."""
        if self._policy.decide(place.module).load is not Load.WHOLE:
            return FunctionAt(
                Location(place.symbol.spoken or place.symbol.name, place.module.path, place.address)
            )
        await self._reader.prepare(place.module)
        found = await self._native.ask(FindFunctionBody(place.address))
        location = Location(
            place.symbol.spoken or place.symbol.name, place.module.path, found.address, found.file, found.line
        )
        return FunctionAt(location, found.hides)

    async def inlined(self, name: str, modules: Iterable[Module]) -> list[FunctionAt]:
        """Where functions of this name were inlined in these modules, as far as debug info tells.

        gdb knows functions by the names that users type, not by patterns.
        """
        query = Query.of(name)
        identifier = _identifier(query)
        if identifier is None:
            return []
        having = [module for module in modules if self._may_have(module, identifier)]
        for module in having:
            await self._reader.prepare(module)
        if not having:
            return []
        expand = {identifier, identifier.lstrip("~")} if debug_info_of(having) < _EXPANDED else ()
        names = [*_names(query), *_rust_names(query, having)]
        starts = self._exported_from_rust(name, having)
        instances = await self._native.ask(FindFunctionInstances(names, sorted(expand), [], starts))
        # What gdb's index lacks: some names, and what was inlined while linking, though it has the function itself.
        whole = [one for one in having if one.library and was_optimised_whole(one.library.with_debug_info)]
        lacks = all(one.inlined_in is None for one in instances) and whole
        if (not instances or lacks) and debug_info_of(having) < READ_WHOLE:
            read, linked = ([at for one in among for at in function_starts(one)] for among in (having, whole))
            asked = FindFunctionInstances(_names(query), [], read, linked_whole=linked)
            instances = await self._native.ask(asked) or instances
        found = []
        for one in instances:
            there = self._image.module_at(one.address)
            if there not in having or not (one.inlined_in or _is_numbered(query, one)):
                continue
            if _means(query, one) or (starts and one.linkage == name):
                found.append(_function_at(one, there))
        return found

    def _exported_from_rust(self, name: str, modules: list[Module]) -> list[int]:
        """Where functions of Rust begin that go by a name of C (``#[no_mangle]``). Debug info has their paths."""
        rust = [module for module in modules if module.library is not None and has_rust(module.library.elf)]
        if not rust or not name.isidentifier():
            return []
        return [place.address for place in self._image.find(name, rust) if place.symbol.linkage_name == name]

    def _may_have(self, module: Module, identifier: str) -> bool:
        if module.library is None or self._policy.decide(module).load is not Load.WHOLE:
            return False
        return may_name(module.library.with_debug_info, identifier)


def _function_at(one: FunctionAddress, module: Module | None) -> FunctionAt:
    library = module.path if module is not None else None
    location = Location(one.function, library, one.address, one.file, one.line, one.inlined_in)
    return FunctionAt(location, one.hides, one.is_sure)


def _only_calls(place: LoadedFunction, inlined: list[CythonName], is_inlined: bool) -> bool:
    """Whether a function only unpacks the arguments of a call, and the function that it calls was inlined.

    Cython makes such functions, and so do PyO3's macros.
    """
    name = cython_function(in_source(parse(place.symbol.name).short) or "")
    if name is not None:
        return any(one.path == name.path and one.part < name.part for one in inlined)
    return is_inlined and bool(functions_of_macro(short_rust_name(place.symbol.name)))


def _is_part(place: LoadedFunction) -> bool:
    """Whether the symbol is a part of a function that has another beginning.

    GCC splits a function (-fpartial-inlining): its beginning is inlined, and calls the rest as ``f.part.0``. Of a
    function for several processors (target_clones) ``f`` is an indirect function, and ``f.resolver`` its resolver.
    """
    return _PART.search(place.symbol.clone or "") is not None


def _whole_name(place: LoadedFunction) -> str:
    return parse(place.symbol.name.removesuffix(place.symbol.clone or "")).short


def debug_info_of(modules: list[Module]) -> int:
    """The bytes of the debug info of libraries."""
    files = [module.library.with_debug_info for module in modules if module.library is not None]
    sections = [file.section(".debug_info") for file in files]
    return sum(section.size for section in sections if section is not None)


def function_starts(module: Module) -> list[int]:
    """Where the functions of a library begin."""
    tables = module.library.tables if module.library is not None else []
    return [entry.value + module.bias for table in tables for entry in table.functions()]


def _names(query: Query) -> list[str]:
    """The names to ask gdb for: it wants unnamed scopes too.

    Of an inlined function without a linkage name it knows no parameters.
    """
    names = [query.text]
    if query.parsed.parameters is not None:
        names.append("::".join(query.parsed.components))
    scopes, separator, last = names[-1].rpartition("::")
    return [*names, f"{scopes}::{ANONYMOUS}::{last}"] if separator and "(" not in last else names


def _identifier(query: Query) -> str | None:
    """The last part of a name, as debug info has it; None for a pattern or a linkage name."""
    if query.is_glob or query.is_linkage_name or not query.parsed.components:
        return None
    last = next((one for one in reversed(query.parsed.components) if closure_in(one) is None), "")
    return canonical_operator(split_component(last)[0])


def _rust_names(query: Query, modules: list[Module]) -> list[str]:
    files = [module.library.with_debug_info for module in modules if module.library is not None]
    return [name for file in files if has_rust(file) for name in meant_in_debug_info(file, query)]


def _means(query: Query, place: FunctionAddress) -> bool:
    """Whether a query means a function by gdb's name for it, which has no parameters where gdb does not know them."""
    rust = demangle_rust(place.linkage or "")
    if rust is not None:
        return query.matches_rust(rust) or _is_numbered(query, place)
    function = place.function or ""
    if query.matches(function):
        return True
    if parse(function).parameters is not None:
        return False
    if not place.parameters:
        return Query.of("::" * query.anchored + query.parsed.short).matches(function)
    return any(query.matches(function + parameters) for parameters in place.parameters)


def _is_numbered(query: Query, place: FunctionAddress) -> bool:
    """Whether the query means a closure of Rust by its number, which the legacy mangling does not have."""
    rust = demangle_rust(place.linkage or "")
    is_legacy = rust is not None and closure_in(rust) is not None and not query.matches_rust(rust)
    return is_legacy and query.matches_rust(place.function or "")
