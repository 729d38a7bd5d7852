"""Going on from a stop: continue, next, step, finish and until, within a language and across the boundary.

Two engines may end a step, and whichever stops first wins. Momentary breakpoints of gdb's catch the way from Python
into native code and back out of it; debugpy catches Python lines. docs/stepping.md has the table of what lands where.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...backends import events as engine
from ...backends.events import StopCause
from ...backends.native import Move
from ...errors import CommandError, DualdbgError, WrongState
from ...model import BreakpointState, Layer, NativeFrame, PythonFrame, Reason, Role, Stack, State
from ..loop import Loop
from ..state import TargetState
from ..stops.facts import PythonHold
from . import late_breakpoints
from .call_entries import called_from_here, pointer_followed, watch_calls
from .crossing import Crossing
from .momentary_breakpoints import Momentary
from .step import CONTINUE, Step
from .step_frames import caller_of_python, calls_operators, is_header, native_caller, same_line
from .unfinished import native_step_done

if TYPE_CHECKING:
    from ..breakpoints.table import BreakpointTable
    from ..engines import NativeEngine
    from ..inspect.inspector import Inspector
    from ..ports import Halting
    from .freezing import Freezer

_INSTRUCTION_MOVES = {"stepi": Move.STEP_INSTRUCTION, "nexti": Move.NEXT_INSTRUCTION}
_NATIVE_MOVES = {"next": Move.NEXT, "step": Move.STEP, "until": Move.UNTIL}
_DONE = {StopCause.STEPPED, StopCause.RETURNED, StopCause.UNSAID}


class Stepper:
    """Resumes the target the way a command asks for."""

    def __init__(
        self,
        loop: Loop,
        native: NativeEngine,
        halting: Halting,
        breakpoints: BreakpointTable,
        inspector: Inspector,
        freezer: Freezer,
        crossing: Crossing,
    ) -> None:
        self._loop = loop
        self._native = native
        self._halting = halting
        self._breakpoints = breakpoints
        self._inspector = inspector
        self._freezer = freezer
        self._momentary = Momentary()  # of the step under way
        self.crossing = crossing
        self.step_into = Layer.BINDING  # of an operator of PyTorch
        self.behind_binding: Callable[[int, Layer], tuple[int, ...]] = lambda address, layer: ()

    # -- commands -------------------------------------------------------------------------------

    async def resume(self) -> None:
        if self._loop.state.phase is State.NATIVE_STOPPED:
            momentary = Momentary()
            step = await self._expect_late_breakpoints(momentary)
            await self._go_native(Move.CONTINUE, step, momentary)
        else:
            await self.crossing.end_watch()
            await self._loop.ask(TargetState.leave_in_python, "continue")

    async def step(self, kind: str, location: str | None, target: int | None, tid: int) -> None:
        self._freezer.check_runs(tid)
        if kind == "until" and location is not None:
            await self._until(location)
        elif kind == "goto":
            await self._loop.ask(TargetState.leave_in_python, "goto", None, target)
        elif kind in _INSTRUCTION_MOVES:
            self._loop.state.require(State.NATIVE_STOPPED)
            step = Step(kind, tid, await self._inspector.gdb_thread(tid))
            await self._go_native(_INSTRUCTION_MOVES[kind], step, Momentary())
        elif self._loop.state.phase is State.NATIVE_STOPPED:
            step = Step(kind if target is None else "next", tid, await self._inspector.gdb_thread(tid))
            await self._undone_on_failure(self._step_natively, step, target)
        else:
            await self._undone_on_failure(self._step_python, kind, target, tid)

    async def _undone_on_failure(self, go: Callable[..., Awaitable[None]], *what: Any) -> None:
        """Breakpoints that were set for a step that did not begin are taken out again."""
        momentary = Momentary()
        try:
            await go(*what, momentary)
        except DualdbgError:
            if momentary is not self._momentary:
                await self.crossing.remove(momentary.numbers)
            raise

    async def _step_natively(self, step: Step, target: int | None, momentary: Momentary) -> None:
        if target is not None:
            starts = await self._native.function_bodies([target])
            momentary.chosen = list(await self.crossing.insert_at(starts, step.gdb_thread))
        await self._step_native(step, momentary)

    async def _until(self, location: str) -> None:
        rows = await self._breakpoints.add(location, temporary=True)
        rejected = [row for row in rows if row.state is BreakpointState.REJECTED]
        for row in rejected:
            await self._breakpoints.remove(row.id)
        if rejected:
            raise CommandError(f"until {location}: {rejected[0].message}", "the program was not let run")
        await self.resume()

    # -- at a stop --------------------------------------------------------------------------------

    async def ends_at(self, event: engine.NativeStopped) -> bool | None:
        """Whether a native stop ends the step under way. None: it has nothing to do with the step."""
        step, momentary = self._loop.state.step, self._momentary
        number = event.gdb_breakpoint
        if number is not None and number == self.crossing.beacon:
            if step is not None:
                entry = await self.crossing.announced_entry(event)
                await self._expect_entries(momentary, step.gdb_thread, [entry])
            return False
        if step is None:
            return None
        if number is not None and number in momentary.entries:
            return await self._entered(step, momentary, event)
        if number is not None and momentary.calls is not None and number in momentary.calls.numbers:
            return await self._call_reached(step, momentary, event)
        if number is not None and number in momentary.chosen:
            return event.gdb_thread == step.gdb_thread
        if number is not None and number in momentary.landings:
            return await self._landed(step, momentary.landings[number], event)
        if event.cause in _DONE:
            return await self._line_reached(step, momentary)
        return None

    async def _landed(self, step: Step, lowest: int, event: engine.NativeStopped) -> bool:
        pointer = await self.crossing.stack_pointer(event.gdb_thread or 1)
        reached = event.gdb_thread == step.gdb_thread and pointer >= lowest
        if reached and step.kind == CONTINUE:
            await late_breakpoints.wait(self._breakpoints, self.crossing, step.gdb_thread)
            await self._take_back()
            await self._loop.ask(TargetState.step_forgotten)
            return False
        return reached

    async def stopped_natively(self, step: Step | None, reason: Reason, event: engine.NativeStopped) -> bool:
        """A stop of gdb's is about to be shown: take back what the step had set.

        Returns whether the step would have ended here too, where another stop came first.
        """
        done = False
        if step is not None and reason is not Reason.STEP and event.gdb_thread == step.gdb_thread:
            momentary = self._momentary
            if event.gdb_breakpoint is not None and event.pc in momentary.entries.values():
                # A breakpoint of the user's where the step was to end.
                done = await self._entered(step, momentary, event)
            elif step.top is not None:
                pointer = await self.crossing.stack_pointer(step.gdb_thread)
                done = native_step_done(step.kind, step.top, pointer)
        await self._take_back()
        return done

    async def stopped_in_python(self, cancel_native: bool) -> None:
        """A stop of debugpy's is about to be shown; ``cancel_native``: gdb still works on the step."""
        if cancel_native:

            async def nothing() -> None:
                return None

            await self._halting.interrupted(nothing)
        await self._take_back()
        await self.crossing.end_watch()

    async def _take_back(self) -> None:
        momentary, self._momentary = self._momentary, Momentary()
        await self.crossing.remove(momentary.numbers)

    # -- from a Python stop -----------------------------------------------------------------------

    async def _step_python(self, kind: str, target: int | None, tid: int, momentary: Momentary) -> None:
        gdb_thread = await self._inspector.gdb_thread(tid)
        hold = await self.python_hold(tid)
        step = Step(kind, tid, gdb_thread, depth=hold.depth, origin=hold.top)
        if kind in ("finish", "until") or await self.crossing.line_returns(hold):
            await self._expect_native_caller(step, momentary)
        if kind == "step":
            await self._expect_entries(momentary, gdb_thread, await self.crossing.begin_watch(hold))
            await self._expect_operators(momentary, gdb_thread)
        else:
            await self.crossing.end_watch()
        self._momentary = momentary
        step = replace(step, lands=bool(momentary.landings))
        thread = hold.event.debugpy_thread
        try:
            await self._loop.ask(TargetState.leave_in_python, step.request, thread, target, step)
        except CommandError:
            await self._take_back()
            raise

    async def python_hold(self, tid: int) -> PythonHold:
        """What debugpy knows of a thread that it holds at a Python stop: the one of the stop, or another one.

        debugpy suspends every thread that runs Python code; one in native code runs on, and cannot be stepped.
        """
        for hold in self._loop.state.python_holds.values():
            if hold.tid == tid:
                return hold
        await self._inspector.thread_list.all()  # which of debugpy's numbers is which thread
        number = self._inspector.debugpy_thread(tid)
        hold = PythonHold(engine.PythonStopped(engine.PythonCause.STEPPED, number or 0), tid, shown=True)
        visible = (await self._inspector.stack(tid)).visible()
        if number is None or not visible or not isinstance(visible[0], PythonFrame):
            raise WrongState(
                f"thread {tid} is in native code, and runs on while Python is stopped",
                "stop it natively first: a breakpoint in that code, or continue and Ctrl-C while it is there",
            )
        await self._inspector.read_hold(hold)
        return hold

    async def _expect_native_caller(self, step: Step, momentary: Momentary) -> None:
        """A Python function that native code called returns into that code: be there."""
        stack = await self._inspector.stack(step.tid)
        caller = caller_of_python(stack)
        if caller is not None and self.crossing.is_interesting(caller.pc):
            await self._halting.interrupted(lambda: self._expect_return(momentary, step.gdb_thread, caller))

    async def _expect_return(self, momentary: Momentary, gdb_thread: int, caller: NativeFrame) -> None:
        momentary.landings[await self.crossing.insert_return(caller, gdb_thread)] = caller.sp or 0

    async def _expect_entries(self, momentary: Momentary, gdb_thread: int, addresses: list[int]) -> None:
        momentary.entries.update(await self.crossing.insert_entries(addresses, gdb_thread))

    async def _expect_operators(self, momentary: Momentary, gdb_thread: int) -> None:
        if self.crossing.calls_operator:
            momentary.entries.update(await self.crossing.insert_operators(gdb_thread))

    async def _entered(self, step: Step, momentary: Momentary, event: engine.NativeStopped) -> bool:
        """Native code was entered; it counts when the line that was left called it itself."""
        if event.gdb_thread != step.gdb_thread:
            return False
        stack = await self._inspector.stack_while_held(step.tid)
        python = (frame for frame in stack.visible() if isinstance(frame, PythonFrame))
        caller = next((frame for frame in python if not calls_operators(frame)), None)
        origin = step.origin
        if origin is not None and caller is not None and not same_line(caller, origin):
            return False
        return not await self._pass_binding(step, momentary, stack) and not await self._pass_glue(
            step, momentary, stack
        )

    async def _pass_binding(self, step: Step, momentary: Momentary, stack: Stack) -> bool:
        """In the binding of an operator of PyTorch: on to the layer of it that the user wants to see, if another."""
        top = stack.frames[0] if stack.frames else None
        if not isinstance(top, NativeFrame):
            return False
        behind = self.behind_binding(top.pc, self.step_into)
        momentary.entries.update(await self.crossing.insert_at(behind, step.gdb_thread))
        return bool(behind)

    async def _pass_glue(self, step: Step, momentary: Momentary, stack: Stack) -> bool:
        """In a binding layer with debug info: on to the user's code that it calls; False where there is none."""
        top = stack.frames[0] if stack.frames else None
        if not isinstance(top, NativeFrame) or top.line is None:
            return False
        if top.role is not Role.GLUE and not is_header(top):
            return False
        if not momentary.bodies:
            momentary.bodies = True
            momentary.entries.update(await self.crossing.insert_bodies(top.pc, step.gdb_thread))
        return True

    # -- from a native stop -----------------------------------------------------------------------

    async def _expect_late_breakpoints(self, momentary: Momentary) -> Step | None:
        """What the user said of Python breakpoints at this stop counts from the next Python line on."""
        assert self._loop.state.stop is not None
        tid = self._loop.state.stop.thread.tid
        exit_place = await late_breakpoints.hear(
            self._loop, self._breakpoints, self._inspector, self.crossing, tid
        )
        if exit_place is None:
            return None
        number = await self._inspector.gdb_thread(tid)
        await self._expect_return(momentary, number, exit_place)
        return Step(CONTINUE, tid, number, lands=True)

    async def _step_native(self, step: Step, momentary: Momentary) -> None:
        kind = step.kind
        stack = await self._inspector.stack(step.tid)
        visible = stack.visible()
        if visible and isinstance(visible[0], PythonFrame):
            await self._step_from_python_line(replace(step, origin=visible[0]), momentary)
            return
        top = stack.frames[0] if stack.frames else None
        has_line = isinstance(top, NativeFrame) and top.line is not None
        armed: bool | None = None
        if isinstance(top, NativeFrame):
            step = replace(step, top=top)
            may_enter = has_line or self.crossing.is_entry(top.pc)
            if kind == "step" and may_enter and await self.crossing.may_call_python(step.tid):
                armed = await self.crossing.arm(step.gdb_thread, "step")
        exit_place = await self.crossing.exit_to_python(step.gdb_thread)
        if exit_place is not None:
            await self._expect_return(momentary, step.gdb_thread, exit_place)
        if kind == "step" and isinstance(top, NativeFrame) and not has_line:
            momentary.calls = await watch_calls(
                self._native, self._breakpoints.image, self.crossing, top.pc, step.gdb_thread
            )
        if kind == "finish" or not has_line:
            await self._finish_native(step, momentary, stack, exit_place is not None, armed)
            return
        await self._go_native(_NATIVE_MOVES[kind], step, momentary, armed)

    async def _call_reached(self, step: Step, momentary: Momentary, event: engine.NativeStopped) -> bool:
        """A call of the function without debug info, or the function that it calls: that one ends the step."""
        calls = momentary.calls
        if event.gdb_thread != step.gdb_thread or calls is None:
            return False
        if event.gdb_breakpoint in calls.sites:
            await pointer_followed(
                self._native, self._breakpoints.image, self.crossing, calls, step.gdb_thread
            )
            return False
        return await called_from_here(self._native, calls, step.gdb_thread)

    async def _finish_native(
        self, step: Step, momentary: Momentary, stack: Stack, has_exit: bool, armed: bool | None
    ) -> None:
        """To the next frame of the user's: a native caller, else the Python line, which has its landing already."""
        caller = native_caller(stack, glue_too=momentary.calls is not None)
        if caller is not None:
            await self._expect_return(momentary, step.gdb_thread, caller)
        elif not has_exit:
            await self._go_native(Move.FINISH, step, momentary, armed)
            return
        await self._go_native(Move.CONTINUE, step, momentary, armed)

    async def _step_from_python_line(self, step: Step, momentary: Momentary) -> None:
        """gdb holds a thread in the interpreter, on a Python line: let debugpy end the step."""
        if not await self._inspector.holds_gil(step.tid):
            raise WrongState(
                "the thread is inside the interpreter and does not hold the GIL: it cannot be stepped from here",
                "type continue, or set a breakpoint",
            )
        command = "next" if step.kind == "until" else step.kind
        if not await self.crossing.arm(step.gdb_thread, command):
            raise WrongState(
                "debugpy is not in the target any more, so Python cannot be stepped", "type continue"
            )
        if step.kind == "step":
            await self._expect_entries(momentary, step.gdb_thread, self.crossing.watched_entries)
            await self._expect_operators(momentary, step.gdb_thread)
        await self._go_native(Move.CONTINUE, step, momentary, armed=True)

    async def _line_reached(self, step: Step, momentary: Momentary) -> bool:
        """gdb ended a source step; in a binding layer it goes on to where the user's code is."""
        stack = await self._inspector.stack_while_held(step.tid)
        top = stack.frames[0] if stack.frames else None
        if not isinstance(top, NativeFrame) or (
            top.role is Role.USER and not (momentary.entries and is_header(top))
        ):
            return True
        if momentary.entries or step.kind == "step":
            return not await self._pass_glue(step, momentary, stack)
        return not momentary.landings  # next left the user's function: run on to the landing

    async def _go_native(
        self, move: Move, step: Step | None, momentary: Momentary, armed: bool | None = None
    ) -> None:
        """gdb lets the target run; ``armed``: whether debugpy ends the step too, None: as before."""
        continues = move is Move.CONTINUE
        if step is not None:
            step = replace(step, lands=bool(momentary.landings))
        self._momentary = momentary
        signal = continues and self._loop.state.signal_owed
        await self._loop.ask(TargetState.leave_natively, step, not continues, armed, signal)
        try:
            await self._freezer.park()
            runs = step.gdb_thread if step is not None and not continues else None
            if signal:
                await self._native.resume_with_signal("SIGINT")
            else:
                await self._native.move(move, runs)
        except CommandError:
            await self._loop.ask(TargetState.native_refused)
            await self._freezer.release()
            await self._take_back()
            raise
        await self._loop.ask(TargetState.departed)
