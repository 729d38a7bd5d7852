"""Notices that the name of a breakpoint may mean several things."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import PurePath

from ...model import BreakpointKind, BreakpointSpec, Location, Notice
from ...shared.libraries import is_foreign
from ...symbols.address_space import AddressSpace, Module
from ...symbols.locspec.meanings import Meaning, meanings
from ...symbols.names.cxx_names import parse
from .operator_namesakes import is_function
from .operator_registrations import extension_operator

_SHOWN = 6


class AmbiguousNames:
    """Remembers what was told about the name of each breakpoint: every meaning is told once."""

    def __init__(self, image: AddressSpace) -> None:
        self._image = image
        self._found: dict[int, list[tuple[str, str]]] = {}
        self._told: dict[int, set[str]] = {}

    def forget(self, id: int) -> None:
        """The breakpoint is removed."""
        self._found.pop(id, None)
        self._told.pop(id, None)

    def notice(
        self, id: int, spec: BreakpointSpec, locations: Iterable[Location], arrived: Iterable[Module]
    ) -> Notice | None:
        """What to tell of breakpoint ``id``, which is at these locations, when these modules have arrived."""
        bound: set[str] = set()
        if spec.kind is BreakpointKind.FUNCTION:
            found = _functions_at(one for one in locations if one.address is not None)
            if extension_operator(spec) is not None:  # the kernels of an operator have names of their own
                found = [one for one in found if f"::{one[0]}".endswith(f"::{spec.subject}")]
        elif spec.kind is BreakpointKind.OPERATOR:
            found = self._found.setdefault(id, [])
            found += self._functions(spec.subject, arrived)
            own = _functions_at(one for one in locations if is_function(spec, one))
            found += own
            bound = {f"::{name}" for name, _ in own}
        else:
            return None
        several = meanings(spec, found)
        told = self._told.setdefault(id, set())
        if all(one.spec in told for one in several):
            return None
        told.update(one.spec for one in several)
        return _notice(id, spec, several, bound)

    def in_both_languages(self, id: int, spec: BreakpointSpec, file: str) -> Notice | None:
        """What to tell once of breakpoint ``id``, which is bound natively and in a Python function of ``file``."""
        python = f"py:{spec.subject}"
        told = self._told.setdefault(id, set())
        if python in told:
            return None
        told.add(python)
        alone = f"aten::{spec.subject}" if spec.kind is BreakpointKind.OPERATOR else f"::{spec.subject}"
        text = (
            f"breakpoint {id}: {spec.text} is also a Python function, in {file}, and stops in both languages"
        )
        return Notice("info", text, f"to mean one alone: {python}, {alone}")

    def _functions(self, name: str, modules: Iterable[Module]) -> list[tuple[str, str]]:
        # In PyTorch's own libraries, a function that has the name of an operator belongs to that operator.
        own = [module for module in modules if is_foreign(module.path)]
        places = self._image.find(name, own)
        return [(place.symbol.short_name, PurePath(place.module.path).name) for place in places]


def _functions_at(locations: Iterable[Location]) -> list[tuple[str, str]]:
    """The functions at these locations by name, and their libraries."""
    named = [(one.function, one.library) for one in locations if one.function]
    return [(parse(function).short, _file_name(library or "?")) for function, library in named]


@lru_cache(maxsize=1 << 8)  # hundreds of places may be in one library
def _file_name(library: str) -> str:
    return PurePath(library).name


def _notice(id: int, spec: BreakpointSpec, several: list[Meaning], bound: Collection[str]) -> Notice:
    """``bound``: which meanings of an operator's name the breakpoint stops at as well."""
    if spec.kind is BreakpointKind.FUNCTION:
        what = f"is the name of {len(several)} functions and stops in each: {_listed(several)}"
    else:
        own = [one for one in several[1:] if one.spec in bound]
        others = [one for one in several[1:] if one.spec not in bound]
        meant = (
            f"is PyTorch's operator and stops in {_listed(own)} too"
            if own
            else "is taken for PyTorch's operator"
        )
        what = f"{meant}, and might be {_listed(others)}" if others else meant
    text = f"breakpoint {id}: {spec.text} {what}"
    return Notice("info", text, f"to mean one alone: {_cut(one.spec for one in several)}")


def _listed(meanings: Iterable[Meaning]) -> str:
    return _cut(f"{one.spec} ({one.what})" for one in meanings)


def _cut(parts: Iterable[str]) -> str:
    texts = list(parts)
    more = len(texts) - _SHOWN
    return ", ".join(texts[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
