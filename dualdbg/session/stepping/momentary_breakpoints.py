"""Sets the breakpoints of one step at the places that its plan wants, and takes them back."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from functools import partial

from ...backends.native import PYTHON_OBJECT
from ...shared.requests.breakpoints import (
    DeleteBreakpoints,
    InsertAtFunction,
    InsertBreakpoints,
    InsertStepEnds,
    InsertStepLines,
    StepEndNumbers,
    WantedResult,
)
from ...shared.requests.code import FindFunctionBodies, FindFunctionVisits, FindLinesOfSource
from ...shared.requests.threads import ReadArchitecture
from ...symbols.address_space import Module
from ...symbols.gdb_feed.policy import Load
from ...system.waiting import to_its_end
from ..engines import NativeEngine
from ..inspect.stack_reader import StackReader
from ..ports import Halting
from .code_of_interest import CodeOfInterest
from .handlers import HandlerFinder
from .stop_points import Left, Momentary, OtherLines, StopPoints

_FEW = 200  # functions; gdb takes half a millisecond for each
_SOON_READ = 20_000_000  # bytes of a file with debug info; gdb takes about a second for so many


class MomentaryBreakpoints:
    """The breakpoints of steps. ``now`` are those of the step under way.

    Those of the next step are kept apart until it begins.
    """

    def __init__(
        self,
        native: NativeEngine,
        halting: Halting,
        reader: StackReader,
        code: CodeOfInterest,
        handlers: HandlerFinder,
    ) -> None:
        self._native = native
        self._halting = halting
        self._reader = reader
        self._code = code
        self._handlers = handlers
        self.now = Momentary()
        self.reads_results = True  # of functions that a step leaves
        # In functions of libraries, by file and function.
        self._known_lines: dict[tuple[str, int], list[int]] = {}
        self._known_bodies: dict[tuple[str, int] | None, int] = {}  # how far they are behind the beginning

    async def set(
        self, places: StopPoints, gdb_thread: int, momentary: Momentary, is_held: bool = False
    ) -> None:
        """Set what is wanted for a thread. The numbers are added to ``momentary``.

        At a Python stop the target halts for a moment. Raises WrongState when it stops for another reason meanwhile.
        ``is_held``: gdb holds the target for the decision about a stop.
        """
        code = self._code
        left = places.left if self.reads_results else None
        if places.returns or places.pads or places.catch is not None or left is not None:
            work = partial(self._set_ends, places, gdb_thread, momentary)
            await (work() if is_held else self._halting.interrupted(work))
        if places.detour is not None:
            if momentary.detours:
                self._native.tell(DeleteBreakpoints(list(momentary.detours)))
                momentary.inserted -= set(momentary.detours)
            place = (places.detour.pc, places.detour.sp or 0)
            numbers = await self._ends_at(momentary, gdb_thread, [place])
            momentary.detours = dict.fromkeys(numbers.returns, places.detour.line)
        if places.catches:
            catches = [(address, 0) for address in self._handlers.begin_catch(None)]
            numbers = await self._ends_at(momentary, gdb_thread, catches=catches)
            momentary.all_catches.update(dict.fromkeys(numbers.catches, places.catches))
        entries = [await self._entry(address) for address in places.entries]
        inlined = [body for address in entries for body in code.inlined_bodies(address)]
        if inlined:
            visits = {
                one.address: one.function for one in await self._native.ask(FindFunctionVisits(inlined))
            }
            for visit, function in visits.items():
                insertion = self._native.ask(InsertAtFunction(visit, function, gdb_thread))
                (number,) = await self._kept(momentary, _as_list(insertion))
                momentary.entries[number] = visit
            around = {start for start, end, _ in inlined if any(start <= visit < end for visit in visits)}
            entries = [address for address in entries if address not in around]
        momentary.entries.update(await self._at_bodies(entries, gdb_thread, momentary))
        momentary.entries.update(await self._at(places.exact, gdb_thread, momentary))
        if places.bodies is not None:
            momentary.has_bodies = True
            module = code.module_at(places.bodies)
            momentary.entries.update(await self._in_all(module, gdb_thread, momentary))
            momentary.entries.update(
                await self._put_into_libraries(module, places.bodies, gdb_thread, momentary)
            )
        for module in code.operator_modules() if places.operators else ():
            momentary.entries.update(await self._in_all(module, gdb_thread, momentary))
        if places.calls is not None:
            momentary.calls = places.calls
            momentary.callees.update(await self._at(places.calls.callees, gdb_thread, momentary))
            momentary.sites.update(await self._at(places.calls.sites, gdb_thread, momentary))
        if places.lines is not None:
            momentary.by_lines = True
            momentary.lines.update(await self._at_lines(places.lines, gdb_thread, momentary))
        if places.chosen is not None:
            momentary.chosen.update(await self._at_bodies([places.chosen], gdb_thread, momentary))
        if places.moved_to is not None:
            momentary.chosen.update(await self._at([places.moved_to], gdb_thread, momentary))

    async def let_gdb_step(self) -> None:
        """Have gdb know its way out of whatever a step of its own may call.

        It sets its breakpoint behind a call at the first instruction of what is called. On x86-64 the return address is
        on top of the stack there; on AArch64 gdb takes the caller's caller for the caller where it has no frame table.
        """
        if await self._native.ask(ReadArchitecture()) == "aarch64":
            await self._reader.prepare_all()

    async def foresee(self, entries: Iterable[int]) -> None:
        """Have gdb read what breakpoints at these entries will need, where that is soon done."""
        places = [(address, self._code.module_at(address)) for address in entries]
        soon = [
            (address, module)
            for address, module in places
            if module is not None and self._is_soon_read(module)
        ]
        for module in self._code.image.modules if soon else ():
            if self._reader.rules.is_ours(module.path):  # a thread that debugpy holds is in its code
                await self._reader.prepare(module)
        await self._bodies([await self._entry(address, ahead=True) for address, _ in soon])
        for module in {module.path: module for _, module in soon}.values():
            functions = self._code.functions(module)
            await self._bodies(functions if len(functions) <= _FEW else [])

    def _is_soon_read(self, module: Module) -> bool:
        if module.library is None or self._reader.load_of(module) is not Load.WHOLE:
            return False
        debug_file = module.library.debug_file
        size = debug_file.stat().st_size if debug_file is not None else module.library.size
        return size <= _SOON_READ

    async def begin(self, momentary: Momentary) -> None:
        """The step for which these were set begins. What one has left that gdb did not let begin is removed."""
        before, self.now = self.now, momentary
        await self.remove(before)

    async def take_back(self) -> None:
        """The step under way is over. Its breakpoints are removed."""
        momentary, self.now = self.now, Momentary()
        await self.remove(momentary)

    def program_replaced(self) -> None:
        """The process runs another program, and gdb has dropped the breakpoints."""
        self.now = Momentary()

    async def cancel(self) -> None:
        """debugpy has ended a step on which gdb still works. gdb forgets it when it is interrupted."""

        async def nothing() -> None:
            return None

        await self._halting.interrupted(nothing)

    async def remove(self, momentary: Momentary) -> None:
        """Remove the breakpoints of a step, perhaps of one that did not begin."""
        momentary.is_over = True
        if momentary.numbers:
            self._native.tell(DeleteBreakpoints(momentary.numbers))

    async def all_or_none(self, work: Awaitable[None], momentary: Momentary) -> None:
        """Do the work, which adds breakpoints to ``momentary``. They are removed where it fails or is given up."""
        try:
            await work
        except BaseException:
            await to_its_end(self.remove(momentary))
            raise

    async def _set_ends(self, places: StopPoints, gdb_thread: int, momentary: Momentary) -> None:
        returns = [(frame.pc, frame.sp or 0) for frame in places.returns]
        pads = [(pad.address, pad.top, pad.is_mute) for pad in places.pads]
        catches = []
        if places.catch is not None:
            module = self._code.module_at(places.catch.pc)
            catches = [(address, places.catch.sp or 0) for address in self._handlers.begin_catch(module)]
        result = None
        if places.left is not None and self.reads_results:
            result, momentary.left = self._wanted_result(places.left), places.left.name
        numbers = await self._ends_at(momentary, gdb_thread, returns, pads, catches, result)
        momentary.notes.update(numbers.notes)
        momentary.landings.update(numbers.returns)
        momentary.pads.update(zip(numbers.pads, places.pads, strict=True))
        momentary.catches.update(numbers.catches)

    def _wanted_result(self, left: Left) -> WantedResult:
        caller, frame = left.caller, left.frame
        kind, declared = (PYTHON_OBJECT, True) if frame is None else self._code.result_at(frame.pc)
        if frame is not None and frame.line is not None:
            kind = None
        called = self._code.part_at(frame.pc) if frame is not None else None
        around = self._code.part_at(caller.pc - 1)
        call = (called[0], *around) if called is not None and around is not None else ()
        return WantedResult(caller.pc, caller.sp or 0, kind, declared, call)

    async def _entry(self, address: int, ahead: bool = False) -> int:
        """The user's function behind an entry. gdb gets its debug info first, where that is worth having: what a stop
        there needs of it, or, ``ahead`` of a step, all.
        """
        module = self._code.module_at(address)
        if module is not None and self._reader.load_of(module) is Load.WHOLE:
            if ahead or self._code.inlined_bodies(address):
                await self._reader.prepare(module)
            else:
                await self._reader.prepare_lines(module)
        return self._code.entry(address)

    async def _in_all(self, module: Module | None, gdb_thread: int, momentary: Momentary) -> dict[int, int]:
        """Breakpoints at every function of an extension's own code."""
        functions = self._code.functions(module) if module is not None else []
        if module is None or not functions:
            return {}
        await self._reader.prepare_lines(module)
        return await self._at_bodies(functions, gdb_thread, momentary)

    async def _put_into_libraries(
        self, module: Module | None, address: int, gdb_thread: int, momentary: Momentary
    ) -> dict[int, int]:
        """Breakpoints at lines of the source of a function that the compiler has put into functions of libraries."""
        if module is None or module.library is None or self._reader.load_of(module) is not Load.WHOLE:
            return {}
        function = self._code.function_at(address - 1)
        if function is None or not self._code.has_library_functions(module):
            return {}
        key = module.library.identity, function[0] - module.bias
        if key not in self._known_lines:
            lines = await self._native.ask(FindLinesOfSource(address))
            found = self._code.in_library_functions(module, lines)
            self._known_lines[key] = [one - module.bias for one in found]
        return await self._at([one + module.bias for one in self._known_lines[key]], gdb_thread, momentary)

    async def _at_bodies(self, functions: list[int], gdb_thread: int, momentary: Momentary) -> dict[int, int]:
        """Breakpoints at functions, behind the prologue where there is debug info. Returns addresses by gdb's
        numbers.
        """
        return await self._at(await self._bodies(functions), gdb_thread, momentary)

    async def _bodies(self, functions: list[int]) -> list[int]:
        """Where breakpoints on functions belong. It is asked once of each, when gdb has what it gets of its file."""
        found = {}
        for one in functions:
            if (key := self._key(one)) in self._known_bodies:
                found[one] = one + self._known_bodies[key]
        unknown = [one for one in functions if one not in found]
        bodies = await self._native.ask(FindFunctionBodies(unknown)) if unknown else []
        for one, body in zip(unknown, bodies, strict=True):
            found[one] = body
            if (key := self._key(one)) is not None:
                self._known_bodies[key] = body - one
        return list(found.values())

    def _key(self, function: int) -> tuple[str, int] | None:
        """Names a function of a file that gdb has; None where it may yet get that."""
        module = self._code.module_at(function)
        if module is None or module.library is None or not self._reader.is_prepared(module):
            return None
        return module.library.identity, function - module.bias

    async def _at_lines(self, lines: OtherLines, gdb_thread: int, momentary: Momentary) -> list[int]:
        places = [(place.address, place.inlined) for place in lines.places]
        insertion = self._native.ask(InsertStepLines(gdb_thread, lines.pc, lines.top, places))
        return await self._kept(momentary, insertion)

    async def _at(self, addresses: Iterable[int], gdb_thread: int, momentary: Momentary) -> dict[int, int]:
        """Breakpoints at these very addresses. Returns the addresses by gdb's numbers."""
        wanted = sorted(set(addresses))
        if not wanted:
            return {}
        numbers = await self._kept(momentary, self._native.ask(InsertBreakpoints(gdb_thread, wanted)))
        return dict(zip(numbers, wanted, strict=True))

    async def _ends_at(
        self,
        momentary: Momentary,
        gdb_thread: int,
        returns: Sequence[tuple[int, int]] = (),
        pads: Sequence[tuple[int, int, bool]] = (),
        catches: Sequence[tuple[int, int]] = (),
        result: WantedResult | None = None,
    ) -> StepEndNumbers:
        async def insert() -> StepEndNumbers:
            numbers = await self._native.ask(InsertStepEnds(gdb_thread, returns, pads, catches, result))
            await self._note(momentary, [*numbers.notes, *numbers.returns, *numbers.pads, *numbers.catches])
            return numbers

        return await to_its_end(insert())

    async def _kept(self, momentary: Momentary, insertion: Awaitable[list[int]]) -> list[int]:
        """The numbers of breakpoints that gdb inserts. They are known too where the step is given up meanwhile."""

        async def insert() -> list[int]:
            numbers = await insertion
            await self._note(momentary, numbers)
            return numbers

        return await to_its_end(insert())

    async def _note(self, momentary: Momentary, numbers: list[int]) -> None:
        """What gdb has inserted is the step's, unless that ended meanwhile: a stop was still read for it."""
        if momentary.is_over:
            self._native.tell(DeleteBreakpoints(numbers))
        else:
            momentary.inserted.update(numbers)


async def _as_list(number: Awaitable[int]) -> list[int]:
    return [await number]
