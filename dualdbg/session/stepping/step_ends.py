"""Decides at each stop what becomes of the step under way, and takes back what the step had set."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ...backends import events as engine
from ...backends.native import AskingGdb
from ...model import RETURNED, Language, NativeFrame, Reason, Value
from ...shared.requests.breakpoints import FindCallerAtEntry, ReadStepResult
from ...shared.requests.code import FindCallTarget
from ...shared.requests.threads import ReadRegisters
from ..loop import Loop
from ..ports import Halting
from ..stops.facts import PythonHold
from ..transitions.going_on import step_forgotten
from .arrival import Arrival, ArrivalFact, Outcome, is_done_too, outcome
from .code_of_interest import CodeOfInterest
from .destination import Destination
from .ground import Unheard
from .line_watch import LineWatch
from .momentary_breakpoints import MomentaryBreakpoints
from .probe import Probe
from .step import Step
from .step_frames import caller_of_python, exit_to_python, frames_with_native_callers
from .stop_points import StopPoints

if TYPE_CHECKING:
    from ..inspect.inspector import Inspector

Decision = TypeVar("Decision")


class ArrivalReader:
    """Reads the facts about a stop within a step which ``arrival.py`` needs. gdb holds the target."""

    def __init__(
        self,
        native: AskingGdb,
        inspector: Inspector,
        watch: LineWatch,
        code: CodeOfInterest,
        breakpoints: Unheard,
        halting: Halting,
    ) -> None:
        self.halting = halting
        self._native = native
        self._inspector = inspector
        self._watch = watch
        self._code = code
        self._breakpoints = breakpoints

    @property
    def unheard(self) -> int | None:
        """The number of the last message about breakpoints, while debugpy has not taken it."""
        return self._breakpoints.unheard

    async def read(self, fact: ArrivalFact, arrival: Arrival) -> None:
        """Fill in one fact."""
        await _READERS[fact](self, arrival)

    def may_be_leaving(self, hold: PythonHold) -> bool:
        """Whether a function that C code called is about to be left, at a Python stop."""
        return self._inspector.held_frames.may_be_leaving(hold)

    async def native_callers(self, tid: int) -> StopPoints | None:
        """Where a step ends that leaves the innermost Python function of a thread; None where Python called that."""
        stack = await self._inspector.stack_while_held(tid)
        caller = caller_of_python(stack)
        if caller is None or not self._code.has(caller.pc):
            return None
        frames = await self._inspector.reader.native_frames(tid, await self._inspector.gdb_thread(tid))
        below = exit_to_python(
            [frame for frame in frames if frame.level >= caller.level], self._inspector.reader.rules
        )
        returns = (caller,) if below is None else (below, caller)
        return StopPoints(returns=returns, catches=frames_with_native_callers(stack))

    async def result(self, left: str | None) -> Value | None:
        """What the function of this name has returned, which the step was to leave; None where it has not."""
        found = await self._native.ask(ReadStepResult()) if left is not None else None
        if found is None:
            return None
        return Value(f"{RETURNED}{left}", found.type, found.value, Language.NATIVE)

    async def _announced(self, arrival: Arrival) -> None:
        arrival.announced = await self._watch.announced(arrival.stop.gdb_thread or 1)

    async def _stack(self, arrival: Arrival) -> None:
        assert arrival.step is not None
        arrival.stack = await self._inspector.stack_while_held(arrival.step.tid)

    async def _behind(self, arrival: Arrival) -> None:
        assert arrival.top is not None
        arrival.behind = self._code.behind(arrival.top.pc)

    async def _pointer(self, arrival: Arrival) -> None:
        arrival.pointer = await self._stack_pointer(arrival)

    async def _pointed_to(self, arrival: Arrival) -> None:
        target = await self._native.ask(FindCallTarget(arrival.stop.gdb_thread or 1))
        arrival.pointed_to = target if target is not None and self._code.is_wanted(target) else None

    async def _called_from(self, arrival: Arrival) -> None:
        arrival.called_from = (await self._native.ask(FindCallerAtEntry(arrival.stop.gdb_thread or 1))).pc

    async def _caller(self, arrival: Arrival) -> None:
        place = await self._native.ask(FindCallerAtEntry(arrival.stop.gdb_thread or 1))
        arrival.caller = NativeFrame(0, place.pc, sp=place.sp)

    async def _stack_pointer(self, arrival: Arrival) -> int:
        return (await self._native.ask(ReadRegisters(arrival.stop.gdb_thread or 1, ["sp"])))["sp"]


_READERS: dict[ArrivalFact, Callable[[ArrivalReader, Arrival], Awaitable[None]]] = {
    ArrivalFact.ANNOUNCED: ArrivalReader._announced,
    ArrivalFact.STACK: ArrivalReader._stack,
    ArrivalFact.BEHIND: ArrivalReader._behind,
    ArrivalFact.POINTER: ArrivalReader._pointer,
    ArrivalFact.POINTED_TO: ArrivalReader._pointed_to,
    ArrivalFact.CALLED_FROM: ArrivalReader._called_from,
    ArrivalFact.CALLER: ArrivalReader._caller,
}


class StepEnds:
    """Looks at each stop for the step under way."""

    def __init__(
        self,
        loop: Loop,
        reader: ArrivalReader,
        breakpoints: MomentaryBreakpoints,
        watch: LineWatch,
        probe: Probe,
        destination: Destination,
    ) -> None:
        self._loop = loop
        self._reader = reader
        self._destination = destination
        self._breakpoints = breakpoints
        self._watch = watch
        self._probe = probe

    async def ends_at(self, stop: engine.NativeStopped) -> Outcome:
        """What a native stop means for the step under way; what it sets is set then."""
        step, momentary = self._loop.state.step, self._breakpoints.now
        found = await self._decided(outcome, Arrival(stop, step, momentary, self._watch.beacon))
        if step is not None:
            await self._breakpoints.set(found.places, step.gdb_thread, momentary, is_held=True)
            if found.is_there:
                await self._hear(step)
        return found

    async def stopped_natively(
        self, step: Step | None, reason: Reason, stop: engine.NativeStopped
    ) -> tuple[bool, Value | None]:
        """A native stop is about to be shown: take back what the step had set.

        Returns whether the step would have ended here too, where another stop came first; and what the function has
        returned that the step has left.
        """
        done, result = False, None
        if reason.ends_step:
            result = await self._reader.result(self._breakpoints.now.left)
        else:
            done = await self._decided(is_done_too, Arrival(stop, step, self._breakpoints.now))
        await self._breakpoints.take_back()
        await self._destination.forget()
        return done, result

    def program_replaced(self) -> None:
        """The process runs another program: what the step had set is gone."""
        self._breakpoints.program_replaced()
        self._watch.program_replaced()
        self._probe.program_replaced()

    async def leaves_python(self, hold: PythonHold) -> bool:
        """Whether debugpy has stopped for a function that is about to be left, and that native code of the user called.

        The step goes on then to that code or a handler in it, or to the Python line that called the code. Raises
        WrongState when a native stop comes first.
        """
        step = self._loop.state.step
        if step is None or hold.tid is None or not self._reader.may_be_leaving(hold):
            return False
        work = partial(self._leaves_python, hold.tid, step)
        return bool(await self._reader.halting.interrupted(work))

    async def _leaves_python(self, tid: int, step: Step) -> bool:
        places = await self._reader.native_callers(tid)
        if places is None:
            return False
        await self._breakpoints.set(places, step.gdb_thread, self._breakpoints.now, is_held=True)
        return True

    async def stopped_in_python(self, cancel_native: bool) -> None:
        """A Python stop is about to be shown: take back what the step had set.

        ``cancel_native``: gdb still works on the step.
        """
        if cancel_native:
            await self._breakpoints.cancel()
        await self._breakpoints.take_back()
        await self._watch.end()
        await self._destination.forget()

    async def _decided(
        self, decide: Callable[[Arrival], Decision | ArrivalFact], arrival: Arrival
    ) -> Decision:
        """The decision, once all facts are read that it needs."""
        while isinstance(found := decide(arrival), ArrivalFact):
            await self._reader.read(found, arrival)
        return found

    async def _hear(self, step: Step) -> None:
        """A thread that just continues is back in Python. It waits for debugpy, and its step is over."""
        number = self._reader.unheard
        if number is not None:
            await self._probe.hear(step.gdb_thread, number)
        await self._breakpoints.take_back()
        await self._loop.ask(step_forgotten)
