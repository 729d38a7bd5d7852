"""Binds native breakpoint specs to addresses as libraries arrive. Each address gets one gdb breakpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ...backends.native import Access
from ...errors import CommandError
from ...known.throwers import THROWERS
from ...model import BreakpointKind, BreakpointSpec, BreakpointState, Location
from ...shared.libraries import is_foreign
from ...symbols.address_space import DELETED, AddressSpace, Module, Place
from ...symbols.gdb_feed.policy import Load
from ...symbols.gdb_feed.unwind_file import has_jit_interface
from ...symbols.torch.operator_functions import places_of
from ...symbols.torch.operators import Candidate
from ..engines import NativeEngine
from ..inspect.stack_reader import StackReader
from ..inspect.symbol_policy import SymbolPolicy
from ..log_text import split_log
from .cython_places import ENDINGS, CythonPlaces
from .function_places import FunctionAt, FunctionPlaces
from .ifuncs import IndirectFunctions
from .moved_lines import elsewhere
from .native_expressions import check_expression
from .native_suffixes import is_counted_by_gdb, prints_itself
from .operator_registrations import OperatorRegistrations, extension_operator

Candidates = Callable[[BreakpointSpec], list[Candidate]]
"""The functions at which an operator spec belongs."""


@dataclass
class _Point:
    """A gdb breakpoint, and the user's breakpoints that share it."""

    number: int
    owners: set[int] = field(default_factory=set)
    prints: bool = False  # gdb prints its text by itself, and does not stop
    ignores: bool = False  # gdb passes over the first hits by itself, and counts them


@dataclass(frozen=True)
class _Kind:
    """How gdb is to treat a breakpoint: see :meth:`NativeBreakpoints._insert`.

    ``is_looked_at``: gdb neither counts nor prints by itself, for an arrival may be the debugger's own.
    """

    at_function: bool
    inlined: str | None  # the function's name where it was inlined
    is_looked_at: bool

    def is_counted(self, spec: BreakpointSpec) -> bool:
        """Whether gdb passes over the first hits by itself. It would count those where our condition is false."""
        if self.is_looked_at or (self.at_function and spec.condition is not None):
            return False
        return is_counted_by_gdb(spec)


@dataclass
class _Wanted:
    """A native breakpoint of the user: what to look for, and where it was found."""

    id: int
    spec: BreakpointSpec
    names: tuple[str, ...]
    candidates: tuple[Candidate, ...] = ()
    operator: str | None = None  # of an extension: its kernels are in the registry of the process
    enabled: bool = True
    locations: dict[str, Location] = field(default_factory=dict)  # by the key of their point
    message: str | None = None
    unresolved: list[Place] = field(default_factory=list)  # indirect functions whose resolver has not run
    passed_over: int = 0  # hits that gdb counted at places where it does not count any more


def _no_names(spec: BreakpointSpec) -> tuple[str, ...]:
    return ()


_FUNCTIONS: dict[BreakpointKind, Callable[[BreakpointSpec], tuple[str, ...]]] = {
    BreakpointKind.FUNCTION: lambda spec: (spec.subject,),
    BreakpointKind.THROW: lambda spec: THROWERS,
}


class NativeBreakpoints:
    """The native half of the breakpoint table."""

    def __init__(
        self,
        native: NativeEngine,
        image: AddressSpace,
        reader: StackReader,
        policy: SymbolPolicy,
        candidates: Candidates,
    ) -> None:
        self._native = native
        self.image = image
        self._reader = reader
        self._policy = policy
        self._candidates = candidates
        self._cython = CythonPlaces(native, image)
        self._places = FunctionPlaces(native, image, reader, policy)
        self._indirect = IndirectFunctions(native, image)
        self._registrations = OperatorRegistrations(native, image)
        self._wanted: dict[int, _Wanted] = {}
        self._points: dict[str, _Point] = {}
        self._held_back = False

    def hold_back(self) -> None:
        """Set breakpoints that do not stop before :meth:`release`: the program has not begun yet."""
        self._held_back = True

    async def release(self) -> None:
        """The program begins: breakpoints stop from now on."""
        self._held_back = False
        for key, point in list(self._points.items()):
            if self._points.get(key) is point and self._is_active(point):
                await self._native.enable_breakpoint(point.number, True)

    # -- the user's changes ---------------------------------------------------------------------

    async def add(self, id: int, spec: BreakpointSpec) -> None:
        """Look for the places of a new breakpoint in what is loaded now.

        Raises SpecError for a condition or a log text that would write to the program or call its functions.
        """
        if spec.condition is not None:
            check_expression(spec.condition)
        if spec.log is not None:
            for expression in split_log(spec.log)[1]:
                check_expression(expression)
        if spec.kind is BreakpointKind.SIGNAL:
            self._wanted[id] = _Wanted(id, spec, ())
            await self._native.handle_signal(spec.subject, stops=True)
            return
        operator = spec.kind is BreakpointKind.OPERATOR
        candidates = tuple(self._candidates(spec)) if operator else ()
        names = _FUNCTIONS.get(spec.kind, _no_names)(spec)
        wanted = _Wanted(id, spec, names, candidates, extension_operator(spec))
        self._wanted[id] = wanted
        await self._bind(wanted, self.image.modules)
        if wanted.operator is not None and not wanted.locations:
            await self._bind_kernels(wanted, self._registrations.known(wanted.operator))
        await self._forget_vanished(wanted)

    async def remove(self, id: int) -> None:
        """Remove a breakpoint, and what gdb has for it unless another one shares that."""
        wanted = self._wanted.pop(id)
        if wanted.spec.kind is BreakpointKind.SIGNAL:
            await self._native.handle_signal(wanted.spec.subject, stops=False)
        await self._forget_vanished(wanted)

    async def _forget_vanished(self, wanted: _Wanted) -> None:
        """Let go of the locations of a breakpoint that has been removed: some may have been found since."""
        if self._wanted.get(wanted.id) is wanted:
            return
        while wanted.locations:
            key, _ = wanted.locations.popitem()
            await self._release(key, wanted.id)

    async def enable(self, id: int, enabled: bool) -> None:
        """Switch a breakpoint on or off."""
        wanted = self._wanted[id]
        wanted.enabled = enabled
        if wanted.spec.kind is BreakpointKind.SIGNAL:
            await self._native.handle_signal(wanted.spec.subject, stops=enabled)
        for key in list(wanted.locations):
            point = self._points.get(key)
            if point is not None:
                await self._native.enable_breakpoint(point.number, self._is_active(point))

    def _is_active(self, point: _Point) -> bool:
        owners = (self._wanted[owner] for owner in point.owners if owner in self._wanted)
        return not self._held_back and any(wanted.enabled for wanted in owners)

    def state(self, id: int) -> tuple[BreakpointState, tuple[Location, ...], str | None]:
        """Whether it is bound, where, and what there is to say of it. A signal has no place."""
        wanted = self._wanted[id]
        bound = wanted.locations or wanted.spec.kind is BreakpointKind.SIGNAL
        state = BreakpointState.VERIFIED if bound else BreakpointState.PENDING
        return state, tuple(wanted.locations.values()), wanted.message

    def owners(self, gdb_number: int) -> list[int]:
        """The user's enabled breakpoints behind a gdb breakpoint."""
        for point in self._points.values():
            if point.number == gdb_number:
                return sorted(o for o in point.owners if o in self._wanted and self._wanted[o].enabled)
        return []

    def owners_there(self, gdb_number: int) -> list[int]:
        """The user's enabled breakpoints at the address of a gdb breakpoint.

        gdb may have several there, and reports only one of them.
        """
        key = next((key for key, point in self._points.items() if point.number == gdb_number), None)
        if key is None or not key.startswith("0x"):
            return self.owners(gdb_number)
        place = key.partition(" ")[0]
        there = (point for other, point in self._points.items() if other.partition(" ")[0] == place)
        ids = sorted(set().union(*(point.owners for point in there if not point.prints)))
        return [id for id in ids if id in self._wanted and self._wanted[id].enabled]

    # -- the target's changes -------------------------------------------------------------------

    async def libraries_arrived(self, modules: Iterable[Module]) -> list[int]:
        """Bind what can be bound in new modules. Returns the breakpoints that changed."""
        arrived = list(modules)
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
        return changed

    async def operator_registered(self, gdb_number: int, gdb_thread: int) -> list[int] | None:
        """At a stop where operators are registered: bind their kernels. Returns the breakpoints that changed.

        None at any other stop.
        """
        if not self._registrations.is_registration(gdb_number):
            return None
        kernels = await self._registrations.at_hand(self._unbound_operators(), gdb_thread)
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
                and wanted.spec.kind is not BreakpointKind.DATA
                and not self._is_there(location)
            ]
            for key in gone:
                wanted.locations.pop(key, None)
                point = self._points.pop(key, None)
                if point is not None:
                    await self._native.delete_breakpoint(point.number)
            unresolved = [place for place in wanted.unresolved if place.module in self.image.modules]
            if gone or unresolved != wanted.unresolved:
                wanted.unresolved = unresolved
                changed.append(wanted.id)
        await self._indirect.libraries_left()
        await self._reader.libraries_left()
        return changed

    def _is_there(self, location: Location) -> bool:
        """Whether the module of a location is still where it was."""
        assert location.address is not None
        module = self.image.module_at(location.address)
        path = (location.library or "").removesuffix(DELETED)
        return module is not None and module.path.removesuffix(DELETED) == path

    def program_replaced(self) -> list[int]:
        """The process runs another program (exec). No place is bound any more."""
        changed = [wanted.id for wanted in self._wanted.values() if wanted.locations]
        for wanted in self._wanted.values():
            wanted.locations.clear()
            wanted.unresolved.clear()
        self._indirect.program_replaced()
        self._points.clear()
        return changed

    # -- binding --------------------------------------------------------------------------------

    async def _bind(self, wanted: _Wanted, modules: list[Module]) -> None:
        if wanted.spec.kind is BreakpointKind.ADDRESS:
            await self._bind_address(wanted, modules)
        elif wanted.spec.kind is BreakpointKind.NATIVE_LINE:
            await self._bind_line(wanted, modules)
        elif wanted.spec.kind is BreakpointKind.DATA:
            await self._bind_data(wanted)
        for name in wanted.names:
            inlined = await self._places.inlined(name, modules)
            for place in self._places.wholes(self.image.find(name, modules), inlined):
                await self._bind_place(wanted, place)
            for one in inlined:
                await self._insert(wanted, one.address, one.location, one.hides)
        for place in [one for one in wanted.unresolved if one.module not in modules]:
            await self._bind_place(wanted, place)  # it may have been chosen meanwhile
        for candidate in wanted.candidates:
            for place in places_of(self.image, candidate, modules):
                await self._bind_place(wanted, place)

    async def _bind_kernels(self, wanted: _Wanted, addresses: Iterable[int]) -> None:
        for address in addresses:
            function, library = self.image.describe(address)
            await self._insert(wanted, address, Location(function, library, address))

    async def _bind_place(self, wanted: _Wanted, place: Place) -> None:
        if place.symbol.language == "cython" and self._policy.decide(place.module).load is Load.WHOLE:
            await self._reader.prepare(place.module)
            inlined = await self._cython.of_symbol(place.module, place.symbol)
            for location in inlined:
                await self._insert(wanted, location.address or 0, location)
            if inlined:
                return
        if place.symbol.kind == "ifunc":
            await self._bind_indirect(wanted, place)
            return
        at = await self._places.of_place(place)
        await self._insert(wanted, at.address, at.location, at.hides)

    async def _bind_indirect(self, wanted: _Wanted, place: Place) -> None:
        """A symbol that is no function: what it stands for is chosen in the process, by the processor it runs on."""
        address = self._indirect.implementation(place)
        if address is not None:
            await self._bind_implementation(wanted, place, address)
        elif place not in wanted.unresolved:
            wanted.unresolved.append(place)
            await self._indirect.watch(place)
        left = sorted({one.symbol.linkage_name for one in wanted.unresolved})
        wanted.message = f"the implementation of {', '.join(left)} has not been chosen yet" if left else None

    async def _bind_implementation(self, wanted: _Wanted, place: Place, address: int) -> None:
        if place in wanted.unresolved:
            wanted.unresolved.remove(place)
        if not wanted.unresolved:
            wanted.message = None
        function, library = self.image.describe(address)
        at = FunctionAt(Location(function or place.symbol.name, library, address))
        for body in self._places_at(place.module, address):
            at = await self._places.of_place(body)
        await self._insert(wanted, at.address, at.location, at.hides)

    def _places_at(self, module: Module, address: int) -> list[Place]:
        """The function that begins at an address, where its file can tell."""
        symbol = module.library.symbol_at(address - module.bias) if module.library is not None else None
        begins = symbol is not None and symbol.address == address - module.bias
        return [Place(address, symbol, module)] if symbol is not None and begins else []

    async def _bind_address(self, wanted: _Wanted, modules: list[Module]) -> None:
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
            await self._insert(wanted, address, Location(function, library, address))

    async def _bind_offset(self, wanted: _Wanted, module: Module, offset: int) -> None:
        """Bind to the link-time address ``offset``, as nm and objdump print it."""
        address = module.bias + offset
        function, library = self.image.describe(address)
        if function is None and not module.start <= address < module.end:
            wanted.message = f"{module.path} has nothing at {offset:#x}"
            return
        await self._insert(wanted, address, Location(function, library, address))

    async def _bind_data(self, wanted: _Wanted) -> None:
        if wanted.locations:
            return
        place, size, access = wanted.spec.subject.split(":")
        address = int(place, 16)
        try:
            number = await self._native.watch(address, int(size), Access(access))
        except CommandError as error:
            wanted.message = error.message
            return
        if wanted.spec.condition is not None:
            await self._set_condition(wanted, number, wanted.spec.condition)
        key = f"data {wanted.spec.subject} {wanted.id}"
        self._points[key] = _Point(number, {wanted.id})
        _, library = self.image.describe(address)
        wanted.locations[key] = Location(library=library, address=address)
        if not self._is_active(self._points[key]):
            await self._native.enable_breakpoint(number, False)

    async def _bind_line(self, wanted: _Wanted, modules: list[Module]) -> None:
        for module in modules:
            if module.library is not None and self._policy.decide(module).load is Load.WHOLE:
                await self._reader.prepare(module)
        if wanted.spec.subject.endswith(ENDINGS) and wanted.spec.line is not None:
            for location in await self._cython.of_line(wanted.spec.subject, wanted.spec.line):
                await self._insert(wanted, location.address or 0, location)
            return
        places = await self._native.line_locations(wanted.spec.subject, wanted.spec.line)
        for place in places:
            library = self.image.describe(place.address)[1]
            outlined = place.function is not None and "omp_" in place.function
            function = self.image.describe(place.address)[0] if outlined else place.function
            location = Location(function, library, place.address, place.file, place.line, place.inlined_in)
            await self._insert(wanted, place.address, location, place.hides)
        if places:
            wanted.message = elsewhere(wanted.spec.line, places)

    async def _insert(
        self, wanted: _Wanted, address: int, location: Location, at_function: bool = False
    ) -> None:
        """Set a breakpoint. ``at_function``: its frame is that of the function, not of what was inlined there."""
        spec = wanted.spec
        inlined = location.function if location.inlined_in is not None else None
        kind = _Kind(at_function, inlined, self._may_be_our_call(location))
        counts = spec.hits if kind.is_counted(spec) else None
        # Breakpoints that gdb is to treat alike share one gdb breakpoint.
        suffixes = f"{spec.condition or ''} {spec.thread or ''} {counts or ''} {spec.log or ''}"
        key = f"{address:#x} {f'function {inlined} ' * at_function}{suffixes}"
        if key in wanted.locations:
            return
        point = self._points.get(key)
        if point is None:
            try:
                point = await self._new_point(wanted, address, kind)
            except CommandError as error:
                wanted.message = error.message
                return
            other = self._points.get(key)  # another breakpoint may have been set there meanwhile
            if other is not None:
                await self._native.delete_breakpoint(point.number)
                point = other
            self._points[key] = point
        point.owners.add(wanted.id)
        wanted.locations[key] = location
        if not self._is_active(point):
            await self._native.enable_breakpoint(point.number, False)

    def _may_be_our_call(self, location: Location) -> bool:
        """Whether debugpy may call this function too: each arrival is looked at then."""
        return location.library is not None and not is_foreign(location.library)

    async def _new_point(self, wanted: _Wanted, address: int, kind: _Kind) -> _Point:
        spec = wanted.spec
        if prints_itself(spec) and not kind.is_looked_at:
            texts, expressions = split_log(spec.log or "")
            tid = int(spec.thread) if spec.thread is not None else 0
            rest = (spec.condition, tid, kind.at_function, kind.inlined)
            number = await self._native.insert_log_point(address, texts, expressions, *rest)
            return _Point(number, prints=True)
        if kind.at_function:
            number = await self._native.insert_at_function(address, kind.inlined)
        else:
            number = await self._native.insert_breakpoint(address)
        gdb_thread = await self._gdb_thread(spec)
        condition = spec.condition
        if condition is not None and not kind.at_function and self.image.language_at(address) == "cython":
            condition = await self._native.condition_text(address, condition)
        if condition is not None or gdb_thread is not None:
            await self._set_condition(wanted, number, condition, gdb_thread)
        point = _Point(number)
        if kind.is_counted(spec):
            await self._ignore_first_hits(wanted, point)
        return point

    async def _gdb_thread(self, spec: BreakpointSpec) -> int | None:
        """gdb's number of the thread of a spec, where gdb knows it already. Each stop's thread is checked in any
        case.
        """
        if spec.thread is None or not spec.thread.isdigit():
            return None
        threads = {tid: number for number, tid in (await self._native.threads()).items()}
        return threads.get(int(spec.thread))

    async def _set_condition(
        self, wanted: _Wanted, number: int, condition: str | None, gdb_thread: int | None = None
    ) -> None:
        """Give gdb a condition. Where gdb cannot read it, the breakpoint stops once and says why."""
        try:
            await self._native.set_condition(number, condition, gdb_thread)
        except CommandError as error:
            wanted.message = f"the condition cannot be read: {error.message}"

    async def _ignore_first_hits(self, wanted: _Wanted, point: _Point) -> None:
        """Let gdb pass over the first hits by itself, but not where several places count together."""
        assert wanted.spec.hits is not None
        if not wanted.locations:
            await self._native.ignore_hits(point.number, wanted.spec.hits - 1)
            point.ignores = True
            return
        for other in self._points_of(wanted):
            if other.ignores:
                wanted.passed_over += await self._times(other)
                other.ignores = False
                await self._native.ignore_hits(other.number, 0)

    async def hits_before(self, id: int) -> int:
        """How often gdb has passed over a breakpoint by itself, before the hit at hand."""
        wanted = self._wanted[id]
        counted = wanted.passed_over
        for point in self._points_of(wanted):
            if point.ignores:
                counted += await self._times(point) - 1
        return counted

    def _points_of(self, wanted: _Wanted) -> list[_Point]:
        return [self._points[key] for key in wanted.locations if key in self._points]

    async def _times(self, point: _Point) -> int:
        return await self._native.hits(point.number)

    async def _release(self, key: str, owner: int) -> None:
        point = self._points.get(key)
        if point is None:
            return
        point.owners.discard(owner)
        if not point.owners:
            del self._points[key]
            await self._native.delete_breakpoint(point.number)
