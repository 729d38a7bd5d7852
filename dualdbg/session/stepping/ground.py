"""Reads the facts about the place that is left which a plan needs (``plan.py``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from ...backends.native import AskingGdb
from ...errors import CommandError
from ...model import NativeFrame, PythonFrame, Stack, Stop
from ...shared.requests.code import FindCalls, FindOtherLines, Visit
from ...toolchains.registry import author_of_line
from ..inspect.inferior_evaluation import NotSound, check_sound
from ..stops.facts import Unread
from .code_of_interest import CodeOfInterest
from .handlers import HandlerFinder
from .line_watch import LineWatch
from .plan import GroundFact, NativeGround, PythonGround, python_left
from .step_frames import caller_of_python, exit_to_python, innermost_native
from .stop_points import FunctionCalls, LinePlace

if TYPE_CHECKING:
    from ..inspect.inspector import Inspector

Plan = TypeVar("Plan")


class Unheard(Protocol):
    """Knows what debugpy has not been told."""

    @property
    def unheard(self) -> int | None:
        """The number of the last message about breakpoints, while debugpy has not taken it."""
        ...


class GroundReader:
    """Reads one fact after the other until there is a plan."""

    def __init__(
        self,
        native: AskingGdb,
        inspector: Inspector,
        watch: LineWatch,
        code: CodeOfInterest,
        breakpoints: Unheard,
        handlers: HandlerFinder,
    ) -> None:
        self._native = native
        self._inspector = inspector
        self._watch = watch
        self._code = code
        self._breakpoints = breakpoints
        self._handlers = handlers

    def at_native_stop(self, tid: int, stop: Stop) -> NativeGround:
        """The place of a thread at a native stop. Nothing is read yet."""
        return NativeGround(tid, stop)

    async def at_python_stop(self, tid: int) -> PythonGround:
        """The place of a thread at a Python stop. Raises WrongState for a thread that debugpy does not hold."""
        number = await self._inspector.gdb_thread(tid)
        return PythonGround(tid, number, await self._inspector.python_hold(tid))

    async def native_plan(
        self, ground: NativeGround, plan: Callable[[NativeGround], Plan | GroundFact]
    ) -> Plan:
        """The plan that ``plan`` makes, once all facts are read that it asks for.

        Raises CommandError for a thread that does not exist, and whatever the plan refuses the step with.
        """
        while isinstance(found := plan(ground), GroundFact):
            await _NATIVE[found](self, ground)
        return found

    async def python_plan(
        self, ground: PythonGround, plan: Callable[[PythonGround], Plan | GroundFact]
    ) -> Plan:
        """The same for a thread that debugpy holds."""
        while isinstance(found := plan(ground), GroundFact):
            await _PYTHON[found](self, ground)
        return found

    # -- at a native stop -------------------------------------------------------------------------

    async def _unheard(self, ground: NativeGround) -> None:
        ground.unheard = self._breakpoints.unheard if self._inspector.hears_python else None

    async def _thread(self, ground: NativeGround) -> None:
        ground.gdb_thread = await self._inspector.gdb_thread(ground.tid)

    async def _stack(self, ground: NativeGround) -> None:
        ground.stack = await self._inspector.stack(ground.tid)

    async def _gil(self, ground: NativeGround) -> None:
        ground.attachment = await self._inspector.attachment(ground.tid)

    async def _sound(self, ground: NativeGround) -> None:
        assert not isinstance(ground.stack, Unread)
        visible = ground.stack.visible()
        top = visible[0] if visible else None
        assert not isinstance(top, PythonFrame)
        try:
            await check_sound(ground.stop, self._inspector, self._code, ground.tid, top)
        except NotSound:
            ground.is_sound = False
        else:
            ground.is_sound = True

    async def _may_call(self, ground: NativeGround) -> None:
        """Whether the thread may run Python code, and stands in the user's own code or where a function begins."""
        assert not isinstance(ground.stack, Unread)
        top = innermost_native(ground.stack)
        stands_well = top is not None and (top.line is not None or self._code.is_entry(top.pc))
        hears = stands_well and self._inspector.hears_python
        ground.may_call_python = hears and bool(await self._inspector.attachment(ground.tid))

    async def _exit(self, ground: NativeGround) -> None:
        assert not isinstance(ground.gdb_thread, Unread)
        reader = self._inspector.reader
        ground.exit = exit_to_python(await reader.native_frames(ground.tid, ground.gdb_thread), reader.rules)

    async def _pads(self, ground: NativeGround) -> None:
        assert not isinstance(ground.gdb_thread, Unread)
        rules = self._inspector.reader.rules
        frames = await self._inspector.reader.native_frames(ground.tid, ground.gdb_thread)
        ground.pads = await self._handlers.pads(frames, rules)

    async def _native_caller(self, ground: NativeGround) -> None:
        assert not isinstance(ground.stack, Unread)
        ground.caller = self._caller_in(ground.stack)

    async def _lines(self, ground: NativeGround) -> None:
        assert not isinstance(ground.stack, Unread)
        top = innermost_native(ground.stack)
        try:
            visits = await self._native.ask(FindOtherLines(top.pc)) if top is not None else []
        except CommandError:
            visits = []  # gdb cannot decode it; gdb's own step is what is left
        places = (self._place(visit) for visit in visits)
        ground.lines = tuple(place for place in places if place is not None)

    def _place(self, visit: Visit) -> LinePlace | None:
        """None where the line is none of the function's: compilers add code with lines of all kinds."""
        module = self._code.module_at(visit.address)
        if module is None or module.library is None or visit.function is None or visit.line is None:
            return None
        name = author_of_line(module.library, visit.function, visit.file, visit.line)
        if name is None:
            return None
        inlined = visit.function if visit.is_inlined else None
        return LinePlace(visit.address, name, visit.line, inlined, visit.is_inner)

    async def _calls(self, ground: NativeGround) -> None:
        assert not isinstance(ground.stack, Unread)
        top = innermost_native(ground.stack)
        ground.calls = await self._calls_at(top.pc) if top is not None else None

    async def _calls_at(self, pc: int) -> FunctionCalls | None:
        function = self._code.function_at(pc)
        if function is None:
            return None
        try:
            rows = await self._native.ask(FindCalls(*function))
        except CommandError:
            return None  # gdb cannot decode it: there are data between the instructions
        return self._code.calls_of(*function, rows)

    # -- at a Python stop -------------------------------------------------------------------------

    async def _may_return(self, ground: PythonGround) -> None:
        ground.may_return = await self._watch.may_return(ground.hold)

    async def _called(self, ground: PythonGround) -> None:
        ground.called = self._inspector.held_frames.may_be_called(ground.hold)
        ground.unseen = self._inspector.held_frames.unseen_frames(ground.hold) if ground.called else 0

    async def _caller(self, ground: PythonGround) -> None:
        stack = await self._inspector.stack(ground.tid)
        ground.caller = self._caller_in(stack)
        ground.left = python_left(stack) if ground.caller is not None else None

    def _caller_in(self, stack: Stack) -> NativeFrame | None:
        caller = caller_of_python(stack)
        return caller if caller is not None and self._code.has(caller.pc) else None


_NATIVE: dict[GroundFact, Callable[[GroundReader, NativeGround], Awaitable[None]]] = {
    GroundFact.UNHEARD: GroundReader._unheard,
    GroundFact.THREAD: GroundReader._thread,
    GroundFact.STACK: GroundReader._stack,
    GroundFact.GIL: GroundReader._gil,
    GroundFact.SOUND: GroundReader._sound,
    GroundFact.MAY_CALL: GroundReader._may_call,
    GroundFact.EXIT: GroundReader._exit,
    GroundFact.CALLS: GroundReader._calls,
    GroundFact.LINES: GroundReader._lines,
    GroundFact.PADS: GroundReader._pads,
    GroundFact.CALLER: GroundReader._native_caller,
}

_PYTHON: dict[GroundFact, Callable[[GroundReader, PythonGround], Awaitable[None]]] = {
    GroundFact.MAY_RETURN: GroundReader._may_return,
    GroundFact.CALLER: GroundReader._caller,
    GroundFact.CALLED: GroundReader._called,
}
