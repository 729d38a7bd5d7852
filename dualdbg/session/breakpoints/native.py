"""Binds native breakpoint specs to addresses as libraries arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ...backends.native import Access
from ...errors import CommandError, SpecError
from ...known.runtime_functions import CATCHERS, THROWERS
from ...model import BreakpointKind, BreakpointSpec, BreakpointState, Location
from ...shared.proc_files import without_mark
from ...shared.requests.code import CodeAddress, FindLineLocations
from ...symbols.address_space import AddressSpace, LoadedFunction, Module
from ...symbols.gdb_feed.policy import Load
from ...symbols.gdb_feed.unwind_file import has_jit_interface
from ...symbols.link_time import inlined_calls
from ...symbols.torch.operator_functions import places_of
from ...symbols.torch.operators import Candidate
from ...system.folders import here
from ...system.source_files import means_file, search_names
from ...toolchains.cython.functions import is_extension
from ..engines import NativeEngine
from ..inspect.stack_reader import StackReader
from ..inspect.symbol_policy import SymbolPolicy
from ..native_expressions import check_expression
from .compiled_kernels import CompiledKernels
from .cython_locations import ENDINGS, CythonLocations, CythonPlace
from .function_locations import FunctionAt, FunctionLocations
from .ifuncs import IndirectFunctions
from .moved_lines import behind_end, elsewhere, of_cython, several
from .native_suffixes import expressions_of
from .operator_namesakes import functions_meant, locations_meant, may_be_function, modules_meant
from .operator_registrations import OperatorRegistrations, extension_operator
from .points import Points
from .rust_namesakes import authors_of_rust
from .sanitizer_reports import SanitizerReports
from .wanted import Wanted

Candidates = Callable[[BreakpointSpec], list[Candidate]]
"""The functions at which an operator spec belongs."""

# gdb's number of a thread, and the level of a frame of it.
GdbFrame = tuple[int, int]

_WATCHES = (BreakpointKind.DATA, BreakpointKind.WATCH)
_WATCH_HINT = (
    "name a variable or member in memory, of at most 8 bytes: watch v._M_impl._M_start[1]; watch -l EXPRESSION "
    "watches where it lies now"
)

_STATES = {True: BreakpointState.VERIFIED, False: BreakpointState.UNCERTAIN}
_MIXED = "the compiler has mixed {} with other code: it may stop more or less often than that runs, or never"
_NO_CODE = "{} has no code of its own: what it does has become part of other lines"


def _no_names(spec: BreakpointSpec) -> tuple[str, ...]:
    return ()


_FUNCTIONS: dict[BreakpointKind, Callable[[BreakpointSpec], tuple[str, ...]]] = {
    BreakpointKind.FUNCTION: lambda spec: (spec.subject,),
    BreakpointKind.THROW: lambda spec: THROWERS,
    BreakpointKind.CATCH: lambda spec: CATCHERS,
}


def _check_suffixes(spec: BreakpointSpec, may_call: bool) -> None:
    """Raises SpecError for a condition, a log text or a watch that would write to the program or call its functions."""
    if spec.kind is BreakpointKind.WATCH:
        check_expression(spec.subject.removeprefix("-location "))
    for expression in expressions_of(spec):
        check_expression(expression, may_call, spec.kind is BreakpointKind.OPERATOR)


class NativeBreakpoints:
    """The native half of the breakpoint table. ``points`` are what gdb has of it.

    Source files are looked for in ``folders``.
    """

    def __init__(
        self,
        native: NativeEngine,
        image: AddressSpace,
        reader: StackReader,
        policy: SymbolPolicy,
        candidates: Candidates,
        folders: Sequence[Path] = (),
    ) -> None:
        self._native = native
        self._folders = folders or (here(),)
        self.image = image
        self._reader = reader
        self._policy = policy
        self._candidates = candidates
        self._cython = CythonLocations(native, image, reader, policy)
        self._places = FunctionLocations(native, image, reader, policy)
        self._indirect = IndirectFunctions(native, image)
        self._registrations = OperatorRegistrations(native, image)
        self._kernels = CompiledKernels(native, image)
        self.sanitizers = SanitizerReports(native, image)
        self._wanted: dict[int, Wanted] = {}
        self.points = Points(native, image, self._wanted)

    # -- the user's changes ---------------------------------------------------------------------

    async def add(self, id: int, spec: BreakpointSpec, frame: GdbFrame | None = None) -> None:
        """Look for the places of a new breakpoint in what is loaded now.

        ``frame`` is the one whose variables a watch means. Raises SpecError for a condition or a log text that would
        write to the program or call its functions, and where the expression of a watch has no value in ``frame``.
        """
        _check_suffixes(spec, self.points.calls_allowed)
        if spec.kind is BreakpointKind.SIGNAL:
            self._wanted[id] = Wanted(id, spec, ())
            await self._handle_signal(spec.subject)
            return
        candidates = tuple(self._candidates(spec)) if spec.kind is BreakpointKind.OPERATOR else ()
        names = (spec.subject,) if may_be_function(spec) else _FUNCTIONS.get(spec.kind, _no_names)(spec)
        wanted = Wanted(id, spec, names, candidates, extension_operator(spec))
        self._wanted[id] = wanted
        try:
            await self._bind(wanted, self.image.modules, frame)
        except SpecError:
            self._wanted.pop(id, None)
            raise
        if wanted.operator is not None and not wanted.locations:
            await self._bind_kernels(wanted, self._registrations.known(wanted.operator))
        await self._forget_vanished(wanted)

    async def change(self, id: int, spec: BreakpointSpec, counted: int) -> None:
        """Give a breakpoint other suffixes. It has been hit ``counted`` times so far, as its ``hits`` counts.

        The new ones are in force before the old ones are not. Raises SpecError as :meth:`add` does.
        """
        _check_suffixes(spec, self.points.calls_allowed)
        wanted = self._wanted[id]
        if spec.kind in _WATCHES and spec.condition != wanted.spec.condition:
            await self.points.set_watch_condition(wanted, spec.condition)
        wanted.spec, wanted.passed_over = spec, counted
        if wanted.spec.kind is not BreakpointKind.SIGNAL:
            await self.points.replace(wanted)
            await self._forget_vanished(wanted)

    def has(self, id: int) -> bool:
        """Whether the breakpoint of this number means something native."""
        return id in self._wanted

    async def remove(self, id: int) -> None:
        """Remove a breakpoint, and what gdb has for it unless another one shares that."""
        wanted = self._wanted.pop(id)
        if wanted.spec.kind is BreakpointKind.SIGNAL:
            await self._handle_signal(wanted.spec.subject)
        await self._forget_vanished(wanted)
        self.points.forget_unwanted_traces()

    async def _forget_vanished(self, wanted: Wanted) -> None:
        """Let go of the locations of a breakpoint that has been removed: some may have been found since."""
        if self._wanted.get(wanted.id) is wanted:
            return
        while wanted.locations:
            key, _ = wanted.locations.popitem()
            await self.points.release(key, wanted.id)

    async def enable(self, id: int, enabled: bool) -> None:
        """Switch a breakpoint on or off."""
        wanted = self._wanted[id]
        wanted.enabled = enabled
        if wanted.spec.kind is BreakpointKind.SIGNAL:
            await self._handle_signal(wanted.spec.subject)
        await self.points.switch(list(wanted.locations))

    async def _handle_signal(self, name: str) -> None:
        """gdb stops at a signal while one of the user's breakpoints wants it, and else where it did before."""
        kind = BreakpointKind.SIGNAL
        rows = [one for one in self._wanted.values() if one.spec.kind is kind and one.spec.subject == name]
        await self._native.signals.handle(name, stops=any(one.enabled for one in rows))

    def state(self, id: int) -> tuple[BreakpointState, tuple[Location, ...], str | None]:
        """Whether it is bound, where, and what there is to say of it. A signal has no place."""
        wanted = self._wanted[id]
        bound = wanted.locations or wanted.spec.kind is BreakpointKind.SIGNAL
        state = _STATES[wanted.is_sure] if bound else BreakpointState.PENDING
        return state, tuple(wanted.locations.values()), wanted.message

    # -- the target's changes -------------------------------------------------------------------

    async def libraries_arrived(self, modules: Iterable[Module]) -> list[int]:
        """Bind what can be bound in new modules. Returns the breakpoints that changed."""
        arrived = list(modules)
        await self.points.libraries_arrived()
        for module in arrived:
            if module.library is not None and has_jit_interface(module.library):
                await self._reader.prepare(module)  # gdb hears of each function that is compiled from now on
        changed = []
        for wanted in list(self._wanted.values()):
            before = len(wanted.locations), wanted.message
            await self._bind(wanted, arrived)
            await self._forget_vanished(wanted)
            if (len(wanted.locations), wanted.message) != before:
                changed.append(wanted.id)
        await self._registrations.watch(self._unbound_operators(), arrived)
        await self.sanitizers.watch(arrived)
        return changed

    async def operator_registered(self, gdb_number: int, gdb_thread: int) -> list[int] | None:
        """At a stop where operators are registered: bind their kernels. Returns the breakpoints that changed.

        None at any other stop.
        """
        if not self._registrations.is_registration(gdb_number):
            return None
        kernels = await self._registrations.at_hand(gdb_number, self._unbound_operators(), gdb_thread)
        changed = []
        for wanted in list(self._wanted.values()):
            addresses = kernels.get(wanted.operator or "", [])
            await self._bind_kernels(wanted, addresses)
            await self._forget_vanished(wanted)
            if addresses:
                changed.append(wanted.id)
        return changed

    async def resolver_called(self, gdb_number: int, gdb_thread: int) -> list[int] | None:
        """At a stop where an implementation of an indirect function is chosen: bind it. Returns what changed.

        None at any other stop.
        """
        chosen = await self._indirect.at_stop(gdb_number, gdb_thread)
        if isinstance(chosen, bool):
            return [] if chosen else None
        changed = []
        for wanted in list(self._wanted.values()):
            if chosen.place in wanted.unresolved:
                wanted.unresolved.remove(chosen.place)
                await self._bind_implementation(wanted, chosen.place, chosen.address)
                await self._forget_vanished(wanted)
                changed.append(wanted.id)
        return changed

    async def kernel_called(self, gdb_number: int) -> list[int] | None:
        """At a stop before a kernel of generated code: bind it where it computes a line. Returns what changed.

        None at any other stop.
        """
        module = await self._kernels.at_call(gdb_number)
        if module is None:
            return None
        changed = []
        for wanted in list(self._wanted.values()):
            if wanted.spec.kind is BreakpointKind.COMPILED_LINE:
                before = len(wanted.locations), wanted.message
                await self._bind_compiled_line(wanted, [module])
                await self._forget_vanished(wanted)
                changed += [wanted.id] if (len(wanted.locations), wanted.message) != before else []
        return changed

    def _unbound_operators(self) -> set[str]:
        """The operators whose kernels are looked for.

        An operator may get further kernels for other dispatch keys at any time. A function is looked for only until
        it is found.
        """
        kind = BreakpointKind.OPERATOR
        unbound = (one for one in self._wanted.values() if one.spec.kind is kind or not one.locations)
        return {wanted.operator for wanted in unbound if wanted.operator is not None}

    async def libraries_left(self) -> list[int]:
        """Forget the places in modules that are gone. Returns the breakpoints that changed.

        gdb would keep its breakpoints, and set them again in whatever is loaded there next.
        """
        changed = []
        for wanted in list(self._wanted.values()):
            gone = [
                key
                for key, location in wanted.locations.items()
                if location.address is not None
                and wanted.spec.kind not in _WATCHES
                and not self._is_there(location)
            ]
            for key in gone:
                wanted.locations.pop(key, None)
                await self.points.drop(key)
            unresolved = [place for place in wanted.unresolved if place.module in self.image.modules]
            if gone or unresolved != wanted.unresolved:
                wanted.unresolved = unresolved
                changed.append(wanted.id)
        await self._indirect.libraries_left()
        await self._kernels.libraries_left()
        await self._reader.libraries_left()
        return changed

    def _is_there(self, location: Location) -> bool:
        """Whether the module of a location is still where it was."""
        assert location.address is not None
        module = self.image.module_at(location.address)
        path = without_mark(location.library or "")
        return module is not None and without_mark(module.path) == path

    def program_replaced(self) -> None:
        """The process runs another program (exec). No place is bound any more."""
        for wanted in self._wanted.values():
            wanted.locations.clear()
            wanted.unresolved.clear()
            wanted.message = None
        self._indirect.program_replaced()
        self._registrations.program_replaced()
        self._kernels.program_replaced()
        self.points.program_replaced()

    # -- binding --------------------------------------------------------------------------------

    async def _bind(self, wanted: Wanted, modules: list[Module], frame: GdbFrame | None = None) -> None:
        if wanted.spec.kind is BreakpointKind.ADDRESS:
            await self._bind_address(wanted, modules)
        elif wanted.spec.kind is BreakpointKind.NATIVE_LINE:
            await self._bind_line(wanted, modules)
        elif wanted.spec.kind is BreakpointKind.PYTHON_LINE:
            await self._bind_python_line(wanted, modules)
        elif wanted.spec.kind is BreakpointKind.COMPILED_LINE:
            await self._bind_compiled_line(wanted, modules)
        elif wanted.spec.kind is BreakpointKind.DATA:
            await self._bind_data(wanted)
        elif wanted.spec.kind is BreakpointKind.WATCH:
            await self._bind_watch(wanted, modules, frame)
        for name in wanted.names:
            having = modules_meant(wanted.spec, modules, self._policy)
            found = functions_meant(wanted.spec, self.image.find(name, having))
            cython = await self._cython.inlined(name, having, found)
            inlined = locations_meant(wanted.spec, await self._places.inlined(name, having))
            found, inlined = authors_of_rust(name, having, found, inlined)
            names = [one.location.function for one in inlined] + [one.shown for one in cython]
            for place in self._places.wholes(found, [one for one in names if one is not None]):
                await self._bind_place(wanted, place)
            # Parts of a coroutine, and closures in each other, may begin at one address: one stop is one hit.
            begin = {location.address for location in wanted.locations.values()}
            for one in {one.address: one for one in inlined if one.address not in begin}.values():
                await self.points.insert(wanted, one.address, one.location, one.hides)
            await self._bind_cython(wanted, name, cython)
            wanted.doubt_if_unsure(inlined, _MIXED.format(name))
        for place in [one for one in wanted.unresolved if one.module not in modules]:
            await self._bind_place(wanted, place)  # it may have been chosen meanwhile
        for candidate in wanted.candidates:
            for place in places_of(self.image, candidate, modules):
                await self._bind_place(wanted, place)

    async def _bind_kernels(self, wanted: Wanted, addresses: Iterable[int]) -> None:
        for address in addresses:
            function, library = self.image.describe(address)
            await self.points.insert(wanted, address, Location(function, library, address))

    async def _bind_place(self, wanted: Wanted, place: LoadedFunction) -> None:
        if place.symbol.language == "cython" and self._policy.decide(place.module).load is Load.WHOLE:
            await self._reader.prepare(place.module)
            inlined = await self._cython.of_symbol(place.module, place.symbol)
            await self._bind_cython(wanted, wanted.spec.text, inlined)
            if inlined:
                return
        if place.symbol.kind == "ifunc":
            await self._bind_indirect(wanted, place)
            return
        if place.module.library is not None and wanted.spec.kind is BreakpointKind.FUNCTION:
            wanted.message = inlined_calls(place.module.library) or wanted.message
        at = await self._places.of_place(place)
        if wanted.spec.counts and wanted.spec.condition is None:
            # Arguments are in their registers at the entry, and a condition by names is read behind the prologue.
            at = replace(at, location=replace(at.location, address=place.address))
            await self.points.insert(wanted, place.address, at.location, at.hides)
            return
        await self.points.insert(wanted, at.address, at.location, at.hides)

    async def _bind_indirect(self, wanted: Wanted, place: LoadedFunction) -> None:
        """A symbol that is no function: what it stands for is chosen in the process, by the processor it runs on."""
        address = self._indirect.implementation(place)
        if address is not None:
            await self._bind_implementation(wanted, place, address)
        elif place not in wanted.unresolved:
            wanted.unresolved.append(place)
            await self._indirect.watch(place)
        left = sorted({one.symbol.linkage_name for one in wanted.unresolved})
        wanted.message = f"the implementation of {', '.join(left)} has not been chosen yet" if left else None

    async def _bind_implementation(self, wanted: Wanted, place: LoadedFunction, address: int) -> None:
        if place in wanted.unresolved:
            wanted.unresolved.remove(place)
        if not wanted.unresolved:
            wanted.message = None
        self.image.name_implementation(place, address)
        function, library = self.image.describe(address)
        at = FunctionAt(Location(function, library, address))
        for body in self._places_at(place.module, address):
            at = await self._places.of_place(body)
        await self.points.insert(wanted, at.address, at.location, at.hides)

    def _places_at(self, module: Module, address: int) -> list[LoadedFunction]:
        """The function that begins at an address, where its file can tell."""
        symbol = module.library.symbol_at(address - module.bias) if module.library is not None else None
        begins = symbol is not None and symbol.address == address - module.bias
        return [LoadedFunction(address, symbol, module)] if symbol is not None and begins else []

    async def _bind_address(self, wanted: Wanted, modules: list[Module]) -> None:
        name, plus, offset = wanted.spec.subject.rpartition("+")
        if plus:
            for module in modules:
                if module.is_named(name):
                    await self._bind_offset(wanted, module, int(offset, 16))
            return
        if wanted.locations:
            return
        address = int(wanted.spec.subject, 16)
        function, library = self.image.describe(address)
        if library is not None:
            await self.points.insert(wanted, address, Location(function, library, address))

    async def _bind_offset(self, wanted: Wanted, module: Module, offset: int) -> None:
        """Bind to the link-time address ``offset``, as nm and objdump print it."""
        address = module.bias + offset
        function, library = self.image.describe(address)
        if function is None and not module.start <= address < module.end:
            wanted.message = f"{module.path} has nothing at {offset:#x}"
            return
        await self.points.insert(wanted, address, Location(function, library, address))

    async def _bind_data(self, wanted: Wanted) -> None:
        if wanted.locations:
            return
        place, size, access = wanted.spec.subject.split(":")
        address = int(place, 16)
        _, library = self.image.describe(address)
        await self.points.watch(
            wanted, address, int(size), Access(access), Location(library=library, address=address)
        )

    async def _bind_cython(self, wanted: Wanted, what: str, places: list[CythonPlace]) -> None:
        for one in places:
            await self.points.insert(wanted, one.address, one.location, one.hides, one.shown)
        wanted.doubt_if_unsure(places, of_cython(what, wanted.spec.line, places) or _MIXED.format(what))

    async def _places_of(self, file: str, line: int) -> tuple[str, list[CodeAddress]]:
        """Return the name by which gdb has a file that a user has named, and where the line begins, if anywhere."""
        for asked in search_names(file, self._folders):
            found = await self._native.ask(FindLineLocations(asked, line))
            meant = [one for one in found if one.file is None or means_file(file, one.file, self._folders)]
            if meant:
                return asked, meant
        return file, []

    async def _bind_cython_line(self, wanted: Wanted, file: str, line: int) -> None:
        asked, places = await self._places_of(file, line)
        found = await self._cython.of_line(asked, line)
        await self._bind_cython(wanted, f"{file}:{line}", found)
        if not found and not wanted.locations and places:
            wanted.message = _NO_CODE.format(f"{file}:{line}")

    async def _bind_python_line(self, wanted: Wanted, modules: list[Module]) -> None:
        file, line = wanted.spec.subject, wanted.spec.line or 0
        having = [module for module in modules if self.is_compiled(module, file)]
        if having:
            await self._prepare(having)
            places = await self._cython.of_python_line(file, line)
            await self._bind_cython(wanted, f"{file}:{line}", places)
            if not wanted.locations and await self._cython.has_lines_of(file, line):
                wanted.message = _NO_CODE.format(f"{file}:{line}")

    async def _bind_watch(self, wanted: Wanted, modules: list[Module], frame: GdbFrame | None) -> None:
        """A value of the frame; without one, a global variable: it may come with a library."""
        if wanted.locations:
            return
        if frame is not None:
            try:
                await self.points.watch_value(wanted, frame)
            except CommandError as error:
                subject = wanted.spec.subject.removeprefix("-location ")
                raise SpecError(f"{subject} cannot be watched: {error.message}", _WATCH_HINT) from error
            return
        await self._prepare(modules)
        try:
            await self.points.watch_value(wanted, None)
        except CommandError as error:
            wanted.message = error.message

    async def _prepare(self, modules: list[Module]) -> None:
        """Have gdb read the debug info of those that the policy lets it read."""
        for module in modules:
            if module.library is not None and self._policy.decide(module).load is Load.WHOLE:
                await self._reader.prepare(module)

    def is_compiled(self, module: Module, file: str) -> bool:
        """Whether a module is one that Cython may have compiled from this file of Python."""
        return is_extension(module.path) and self._policy.may_have_lines(module, file)

    async def _bind_compiled_line(self, wanted: Wanted, modules: Iterable[Module]) -> None:
        for module in modules:
            found = await self._kernels.of_line(module, wanted.spec.subject, wanted.spec.line or 0)
            for place in found.places:
                await self._bind_place(wanted, place)
            wanted.message = None if wanted.locations else found.message or wanted.message

    async def _bind_line(self, wanted: Wanted, modules: list[Module]) -> None:
        having = [module for module in modules if self._policy.may_have_lines(module, wanted.spec.subject)]
        if not having:
            return
        await self._prepare(having)
        file, line = wanted.spec.subject, wanted.spec.line or 0
        if file.endswith(ENDINGS):
            await self._bind_cython_line(wanted, file, line)
            return
        _, places = await self._places_of(file, line)
        if places:
            wanted.message = elsewhere(file, line, places)
            wanted.doubt_if_unsure(places, _MIXED.format(f"{file}:{line}"))
        elif not wanted.locations:
            wanted.message = behind_end(file, (await self._places_of(file, 1))[1]) or wanted.message
        for place in places:
            library = self.image.describe(place.address)[1]
            outlined = place.function is not None and "omp_" in place.function
            function = self.image.describe(place.address)[0] if outlined else place.function
            location = Location(function, library, place.address, place.file, place.line, place.inlined_in)
            await self.points.insert(wanted, place.address, location, place.hides)
        wanted.message = several(file, wanted.locations.values()) or wanted.message
