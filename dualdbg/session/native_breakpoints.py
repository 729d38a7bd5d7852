"""Binds native breakpoint specs to addresses as libraries arrive, one gdb breakpoint an address."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..errors import CommandError
from ..model import BreakpointKind, BreakpointSpec, Location
from ..symbols.image import Module, Place, ProcessImage
from ..symbols.policy import Load
from .engines import NativeEngine
from .stack_reader import StackReader
from .symbol_policy import SymbolPolicy

Candidates = Callable[[BreakpointSpec], list[str]]
"""The qualified function names at which an operator spec belongs."""


@dataclass
class _Point:
    """One gdb breakpoint and the breakpoints of the user that share it."""

    number: int
    owners: set[int] = field(default_factory=set)


@dataclass
class _Wanted:
    """A native breakpoint of the user: what to look for, and where it was found."""

    id: int
    spec: BreakpointSpec
    names: tuple[str, ...]
    enabled: bool = True
    locations: dict[str, Location] = field(default_factory=dict)  # by gdb location
    message: str | None = None


class NativeBreakpoints:
    """The native half of the breakpoint table."""

    def __init__(
        self,
        native: NativeEngine,
        image: ProcessImage,
        reader: StackReader,
        policy: SymbolPolicy,
        candidates: Candidates,
    ) -> None:
        self._native = native
        self._image = image
        self._reader = reader
        self._policy = policy
        self._candidates = candidates
        self._wanted: dict[int, _Wanted] = {}
        self._points: dict[str, _Point] = {}
        self._held_back = False

    def hold_back(self) -> None:
        """Set breakpoints without stopping at them until :meth:`release`: the program has not begun yet."""
        self._held_back = True

    async def release(self) -> None:
        self._held_back = False
        for point in self._points.values():
            if self._is_active(point):
                await self._native.enable_breakpoint(point.number, True)

    # -- the user's changes ---------------------------------------------------------------------

    async def add(self, id: int, spec: BreakpointSpec) -> None:
        """Look for the places of a new breakpoint in what is loaded now."""
        wanted = _Wanted(id, spec, tuple(self._names(spec)))
        self._wanted[id] = wanted
        await self._bind(wanted, self._image.modules)

    async def remove(self, id: int) -> None:
        wanted = self._wanted.pop(id)
        for location in wanted.locations:
            await self._release(location, id)

    async def enable(self, id: int, enabled: bool) -> None:
        self._wanted[id].enabled = enabled
        for location in self._wanted[id].locations:
            point = self._points[location]
            await self._native.enable_breakpoint(point.number, self._is_active(point))

    def _is_active(self, point: _Point) -> bool:
        owners = (self._wanted[owner] for owner in point.owners if owner in self._wanted)
        return not self._held_back and any(wanted.enabled for wanted in owners)

    def locations(self, id: int) -> tuple[Location, ...]:
        return tuple(self._wanted[id].locations.values())

    def message(self, id: int) -> str | None:
        return self._wanted[id].message

    def owners(self, gdb_number: int) -> list[int]:
        """The enabled breakpoints of the user behind a breakpoint of gdb's."""
        for point in self._points.values():
            if point.number == gdb_number:
                return sorted(o for o in point.owners if o in self._wanted and self._wanted[o].enabled)
        return []

    # -- the target's changes -------------------------------------------------------------------

    async def libraries_arrived(self, modules: Iterable[Module]) -> list[int]:
        """Bind what can be bound in new modules; returns the breakpoints that changed."""
        arrived = list(modules)
        changed = []
        for wanted in list(self._wanted.values()):
            before = len(wanted.locations), wanted.message
            await self._bind(wanted, arrived)
            if (len(wanted.locations), wanted.message) != before:
                changed.append(wanted.id)
        return changed

    def libraries_left(self) -> list[int]:
        """Forget the places in modules that are gone (gdb drops its own); returns the breakpoints that changed."""
        changed = []
        for wanted in self._wanted.values():
            gone = [
                key
                for key, location in wanted.locations.items()
                if location.address is not None and self._image.module_at(location.address) is None
            ]
            for key in gone:
                del wanted.locations[key]
                self._points.pop(key, None)
            if gone:
                changed.append(wanted.id)
        return changed

    def program_replaced(self) -> list[int]:
        """The process ran another program by exec: nothing is bound any more."""
        changed = [wanted.id for wanted in self._wanted.values() if wanted.locations]
        for wanted in self._wanted.values():
            wanted.locations.clear()
        self._points.clear()
        return changed

    # -- binding --------------------------------------------------------------------------------

    def _names(self, spec: BreakpointSpec) -> list[str]:
        if spec.kind is BreakpointKind.OPERATOR:
            return self._candidates(spec)
        if spec.kind is BreakpointKind.FUNCTION:
            return [spec.subject]
        if spec.kind is BreakpointKind.THROW:
            return ["__cxa_throw"]
        return []

    async def _bind(self, wanted: _Wanted, modules: list[Module]) -> None:
        if wanted.spec.kind is BreakpointKind.ADDRESS:
            await self._bind_address(wanted)
        elif wanted.spec.kind is BreakpointKind.NATIVE_LINE:
            await self._bind_line(wanted, modules)
        for name in wanted.names:
            for place in self._image.find(name, modules):
                await self._bind_place(wanted, place)

    async def _bind_place(self, wanted: _Wanted, place: Place) -> None:
        address = place.address
        file, line = None, None
        if self._policy.decide(place.module).load is Load.WHOLE:
            await self._reader.prepare(place.module)
            start = await self._native.helper("function-start", place.address)
            address, file, line = start["address"], start["file"], start["line"]
        location = Location(place.symbol.name, place.module.path, address, file, line)
        await self._insert(wanted, f"*{address:#x}", location)

    async def _bind_address(self, wanted: _Wanted) -> None:
        if wanted.locations:
            return
        address = int(wanted.spec.subject, 16)
        function, library = self._image.describe(address)
        if library is not None:
            await self._insert(wanted, f"*{address:#x}", Location(function, library, address))

    async def _bind_line(self, wanted: _Wanted, modules: list[Module]) -> None:
        for module in modules:
            if module.library is not None and self._policy.decide(module).load is Load.WHOLE:
                await self._reader.prepare(module)
        places = await self._native.helper("line-places", wanted.spec.subject, wanted.spec.line)
        for place in places:
            location = Location(
                place["function"],
                self._image.describe(place["address"])[1],
                place["address"],
                place["file"],
                place["line"],
            )
            await self._insert(wanted, f"*{place['address']:#x}", location)

    async def _insert(self, wanted: _Wanted, key: str, location: Location) -> None:
        if key in wanted.locations:
            return
        point = self._points.get(key)
        if point is None:
            try:
                number, _ = await self._native.insert_breakpoint(key)
            except CommandError as error:
                wanted.message = error.message
                return
            point = self._points[key] = _Point(number)
            if wanted.spec.condition is not None:
                await self._set_condition(wanted, point.number, wanted.spec.condition)
        point.owners.add(wanted.id)
        wanted.locations[key] = location
        if not self._is_active(point):
            await self._native.enable_breakpoint(point.number, False)

    async def _set_condition(self, wanted: _Wanted, number: int, condition: str) -> None:
        try:
            await self._native.command(f"-break-condition --force {number} {condition}")
        except CommandError as error:
            wanted.message = f"the condition cannot be used: {error.message}"

    async def _release(self, key: str, owner: int) -> None:
        point = self._points.get(key)
        if point is None:
            return
        point.owners.discard(owner)
        if not point.owners:
            del self._points[key]
            await self._native.delete_breakpoint(point.number)
