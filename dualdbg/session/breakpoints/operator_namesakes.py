"""Functions of the user's own that have the name of an operator of PyTorch: a bare name means them too. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ...known.binding_layers import is_library_code, is_pytorch_code
from ...known.python_files import is_package
from ...model import BreakpointKind, BreakpointSpec, Location
from ...shared.libraries import is_foreign
from ...symbols.address_space import LoadedFunction, Module
from ...symbols.gdb_feed.policy import Load
from ...symbols.locspec.meanings import is_of_a_header
from ..inspect.symbol_policy import SymbolPolicy
from .function_locations import FunctionAt


def may_be_function(spec: BreakpointSpec) -> bool:
    """Whether an operator's name may be that of a function as well: nothing in the spec says which is meant."""
    return spec.kind is BreakpointKind.OPERATOR and (spec.namespace, spec.overload, spec.layer) == (
        None,
        None,
        None,
    )


def is_function(spec: BreakpointSpec, location: Location) -> bool:
    """Whether a location of a breakpoint on an operator is such a function, and no kernel."""
    return may_be_function(spec) and location.library is not None and is_foreign(location.library)


def modules_meant(spec: BreakpointSpec, modules: Iterable[Module], policy: SymbolPolicy) -> list[Module]:
    """The modules whose functions the breakpoint is about: for the name of an operator those that the user may have
    written, which have debug info or are no part of an installed package.
    """
    if not may_be_function(spec):
        return list(modules)
    return [
        module
        for module in modules
        if module.library is not None
        and is_foreign(module.path)
        and (policy.decide(module).load is Load.WHOLE or not is_package(module.path))
    ]


def functions_meant(spec: BreakpointSpec, places: list[LoadedFunction]) -> list[LoadedFunction]:
    """The functions that the breakpoint is about: for the name of an operator not those that headers of PyTorch or of
    the C++ library have put into a module.
    """
    if not may_be_function(spec):
        return places
    linkage = [(place, place.symbol.linkage_name.encode()) for place in places]
    return [place for place, name in linkage if not (is_library_code(name) or is_pytorch_code(name))]


def locations_meant(spec: BreakpointSpec, places: list[FunctionAt]) -> list[FunctionAt]:
    """:func:`functions_meant` for functions that were inlined."""
    if not may_be_function(spec):
        return places
    return [place for place in places if not is_of_a_header(place.location.function or "")]
