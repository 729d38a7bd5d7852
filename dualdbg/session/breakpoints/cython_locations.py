"""Where breakpoints on lines and functions of Cython belong.

Cython puts code of its own around the author's: wrappers, the making of function objects at import, the handling of
errors at a function's end. All of that has lines of the source too, and none of it is what the line says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from ...model import Location
from ...shared.requests.code import (
    FindFunctionVisits,
    FindInstanceVisits,
    FindLineLocations,
    FindLineVisits,
    Visit,
)
from ...shared.toolchains.cython import CYTHON_GENERATOR
from ...symbols.address_space import AddressSpace, LoadedFunction, Module
from ...symbols.gdb_feed.policy import Load
from ...symbols.names.cxx_names import parse
from ...symbols.names.symbol import Symbol
from ...system.source_files import means_file
from ...toolchains.cython.debug_info import c_functions_meant
from ...toolchains.cython.functions import body_of_wrapper, is_extension, name_in
from ...toolchains.cython.names import GLUE, CythonName, Part
from ...toolchains.cython.source_text import MODULE, Function, function_at, is_of
from ...toolchains.cython.sources import source_of
from ..engines import NativeEngine
from ..inspect.stack_reader import StackReader
from ..inspect.symbol_policy import SymbolPolicy
from .function_locations import READ_WHOLE, debug_info_of, function_starts

ENDINGS = ("pyx", "pxd", "pxi")


@dataclass(frozen=True)
class CythonPlace:
    """A place of a breakpoint. ``hides``: code that is not the author's was inlined just there; ``shown`` is the C name
    of the function that is to be shown, where it was inlined itself. ``is_sure``: control passes exactly one of the
    places each time that the line is run, or the function called.
    """

    location: Location
    hides: bool
    shown: str | None
    is_sure: bool

    @property
    def address(self) -> int:
        """Where the breakpoint goes."""
        assert self.location.address is not None
        return self.location.address


class CythonLocations:
    """Finds them in modules whose debug info gdb has read."""

    def __init__(
        self, native: NativeEngine, image: AddressSpace, reader: StackReader, policy: SymbolPolicy
    ) -> None:
        self._native = native
        self._image = image
        self._reader = reader
        self._policy = policy

    async def of_line(self, file: str, line: int) -> list[CythonPlace]:
        """The places of ``file:line``: where control comes to the author's code of the line.

        On the first line of a function that is where its body begins.
        """
        visits = await self._native.ask(FindLineVisits(file, line, False))
        there = [one for one in visits if PurePath(one.file or "").name == PurePath(file).name]
        source = source_of(there[0].file) if there else None
        if source is None:
            own = [one for one in visits if not is_of(self._name(one), None)]
            return [self._place(visit) for visit in self._generators(own) or own or visits]
        # Code that Cython adds may have any line: those of the C file count on from the last one that Cython has named.
        visits = [one for one in visits if one.line is None or one.line <= source.lines]
        # gdb goes on to a line with code.
        code = min((one.line for one in visits if one.line is not None and one.line >= line), default=line)
        if code > line and source.statements.isdisjoint(range(line, code)):
            # Nothing runs before it, so that is what the line means.
            visits = await self._native.ask(FindLineVisits(file, code, False))
            visits = [one for one in visits if one.line is None or one.line <= source.lines]
        owner = function_at(source.functions, code)
        begins = function_at(source.functions, line)
        if begins is not None and begins.first == line:
            owner = begins
            visits = await self._native.ask(FindLineVisits(file, line, True))
        around = function_at(source.functions, line)
        if around is not None and (owner is None or owner.path[: len(around.path)] != around.path):
            return []  # gdb has gone on into another function
        own = [visit for visit in visits if is_of(self._name(visit), owner)]
        own = self._generators(own) or own
        if begins is None or begins.first != line:  # else it is also the line that makes the function
            own += [visit for visit in visits if self._is_inlined(visit, line, owner)]
        return [self._place(visit) for visit in own]

    async def of_python_line(self, file: str, line: int) -> list[CythonPlace]:
        """The same for a line of a file of Python that Cython has compiled."""
        places = await self.of_line(PurePath(file).name, line)
        return [one for one in places if _is_compiled_from(file, one.location)]

    async def has_lines_of(self, file: str, line: int) -> bool:
        """Whether there is compiled code of this file of Python at the line, or at one behind it."""
        near = await self._native.ask(FindLineLocations(PurePath(file).name, line))
        places = [Location(library=self._image.describe(one.address)[1], file=one.file) for one in near]
        return any(_is_compiled_from(file, one) for one in places)

    def _generators(self, visits: list[Visit]) -> list[Visit]:
        """Those in the bodies of generators: their lines are nowhere else, though what makes a generator may say so."""
        names = [(visit, self._name(visit)) for visit in visits]
        return [visit for visit, name in names if name is not None and name.part is Part.GENERATOR]

    def _is_inlined(self, visit: Visit, line: int, owner: Function | None) -> bool:
        """Whether code of just this line is in another function of the author's, of which debug info says no more."""
        name = self._name(visit)
        if name is None or name.part in GLUE or owner is None or visit.line != line:
            return False
        return name.path[-1] != MODULE and not is_of(name, owner)

    async def of_symbol(self, module: Module, symbol: Symbol) -> list[CythonPlace]:
        """Where the body begins that was inlined into the wrapper of this name. Empty for any other function."""
        name = parse(symbol.name).short
        body = body_of_wrapper(name)
        if body == name:
            return []
        start = symbol.address + module.bias
        visits = await self._native.ask(FindFunctionVisits([(start, start + symbol.size, body)]))
        return [self._place(visit) for visit in visits]

    async def inlined(
        self, name: str, modules: Iterable[Module], found: Iterable[LoadedFunction]
    ) -> list[CythonPlace]:
        """Where functions of this name were inlined in these modules. ``found`` are those in symbol tables."""
        begun = {
            one.symbol.spoken for one in found if parse(one.symbol.name).short.startswith(CYTHON_GENERATOR)
        }
        path = tuple(name.split("."))
        places = []
        for module in modules:
            if module.library is None or self._policy.decide(module).load is not Load.WHOLE:
                continue
            if len(path) == 1 and not is_extension(module.path):
                continue
            meant = c_functions_meant(module.library.with_debug_info, path)
            known = [(one, name_in(module.library, one)) for one in meant]
            # What a generator's def says only makes the generator.
            names = [one for one, own in known if own and own.part not in GLUE and own.text not in begun]
            if not names:
                continue
            await self._reader.prepare(module)
            small = debug_info_of([module]) < READ_WHOLE  # else gdb knows what is in its index
            visits = await self._native.ask(
                FindInstanceVisits(names, function_starts(module) if small else [])
            )
            there = [one for one in visits if self._image.module_at(one.address) is module]
            own = [one for one in there if self._is_on_own_line(one)]
            places += [self._place(one) for one in own or there]
        return places

    def _is_on_own_line(self, visit: Visit) -> bool:
        """Whether a place is on a line of its function. Code that the compiler shares may have one of another."""
        source, name = source_of(visit.file), self._name(visit)
        owners = [one for one in source.functions if is_of(name, one)] if source is not None else []
        return not owners or any(one.first <= (visit.line or 0) <= one.last for one in owners)

    def _name(self, visit: Visit) -> CythonName | None:
        module = self._image.module_at(visit.address)
        library = module.library if module is not None else None
        return name_in(library, visit.function) if library is not None and visit.function else None

    def _place(self, visit: Visit) -> CythonPlace:
        name = self._name(visit)
        library = self._image.describe(visit.address)[1]
        function = name.text if name else visit.function
        around = self._image.describe(visit.address)[0] if visit.is_inlined else None
        inlined_in = around if around != function else None  # the body of a function is often in its wrapper
        location = Location(function, library, visit.address, visit.file, visit.line, inlined_in)
        shown = visit.function if visit.is_inlined else None
        return CythonPlace(location, visit.hides, shown, visit.is_sure)


def _is_compiled_from(file: str, place: Location) -> bool:
    """Whether the code at a place is that of a file: by the path at which it was compiled, or beside its module."""
    if place.file is not None and means_file(file, place.file):
        return True
    module = PurePath(place.library or "")
    return module.parent == PurePath(file).parent and module.name.partition(".")[0] == PurePath(file).stem
