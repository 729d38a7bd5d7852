"""Going on from a stop: continue, next, step, finish and until, within a language and across the boundary.

Two engines may end a step, and whichever stops first wins. Temporary breakpoints of gdb's catch the way from Python
into native code and back out of it; debugpy catches Python lines. docs/stepping.md has the table of what lands where.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..backends import events as engine
from ..errors import CommandError, WrongState
from ..model import BreakpointState, Layer, NativeFrame, Notice, PythonFrame, Reason, Role, Stack, State
from . import late_breakpoints
from .call_entries import CallEntries, called_from_here, pointer_followed, watch_calls
from .crossing import Crossing
from .holds import PythonHold
from .step import Step
from .step_frames import (
    caller_of_python,
    calls_operators,
    is_header,
    is_not_below,
    native_caller,
    same_line,
)
from .unfinished import Unfinished, native_step_done, python_step_done

if TYPE_CHECKING:
    from .session import Session

_INSTRUCTION_COMMANDS = {"stepi": "-exec-step-instruction", "nexti": "-exec-next-instruction"}
_CONTINUE = "continue"  # no step, but something is to be done on the way
# gdb hears nothing, not even a request to stop, while -exec-until runs.
_UNTIL = '-interpreter-exec console "until &"'
_NATIVE_COMMANDS = {"next": "-exec-next", "step": "-exec-step", "until": _UNTIL}


class Stepper:
    """Resumes the target the way a command asks for."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._step: Step | None = None
        self.crossing = Crossing(session)
        self._python_outstanding = False
        self._native_outstanding = False
        self._unfinished = Unfinished(session)
        self.step_into = Layer.BINDING  # of an operator of PyTorch
        self.behind_binding: Callable[[int, Layer], tuple[int, ...]] = lambda address, layer: ()

    # -- what the session asks ------------------------------------------------------------------

    async def resume(self) -> None:
        if self._session.state is State.NATIVE_STOPPED:
            await self._go_native("-exec-continue", await self._expect_late_breakpoints())
        else:
            await self.crossing.end_watch()
            self._go_python("continue")

    async def step(self, kind: str, location: str | None, target: int | None, tid: int) -> None:
        session = self._session
        session.freezer.check_runs(tid)
        if kind == "until" and location is not None:
            rows = await session.breakpoints.add(location, temporary=True)
            rejected = [row for row in rows if row.state is BreakpointState.REJECTED]
            for row in rejected:
                await session.breakpoints.remove(row.id)
            if rejected:
                raise CommandError(f"until {location}: {rejected[0].message}", "the program was not let run")
            await self.resume()
        elif kind == "goto":
            self._go_python("goto", {"targetId": target})
        elif kind in _INSTRUCTION_COMMANDS:
            session.require(State.NATIVE_STOPPED)
            number = await session.inspector.gdb_thread(tid)
            await self._go_native(_INSTRUCTION_COMMANDS[kind], Step(kind, tid, number))
        elif session.state is State.NATIVE_STOPPED:
            step = Step(kind if target is None else "next", tid, await session.inspector.gdb_thread(tid))
            if target is not None:
                starts = await session.native.helper("function-starts", [target])
                step.chosen = list(await self.crossing.insert_at(starts, step.gdb_thread))
            await self._step_native(step)
        else:
            await self._step_python(kind, {} if target is None else {"targetId": target}, tid)

    async def judge(self, event: engine.NativeStopped) -> bool | None:
        """Whether a native stop ends the step: True it does, False it goes on, None it is none of the step's."""
        step = self._step
        number = event.gdb_breakpoint
        if number is not None and number == self.crossing.beacon:
            if step is not None:
                await self._expect_entries(step, [await self.crossing.announced_entry(event)])
            return False
        if step is None:
            return None
        if number is not None and number in step.entries:
            return await self._entered(step, event)
        if number is not None and step.calls is not None and number in step.calls.numbers:
            return await self._call_reached(step, step.calls, event)
        if number is not None and number in step.chosen:
            return event.gdb_thread == step.gdb_thread
        if number is not None and number in step.landings:
            pointer = await self.crossing.stack_pointer(event.gdb_thread or 1)
            reached = event.gdb_thread == step.gdb_thread and pointer >= step.landings[number]
            if reached and step.kind == _CONTINUE:
                await late_breakpoints.wait(self._session, self.crossing, step.gdb_thread)
                await self.settled(False)
                return False
            return reached
        if event.reason in ("end-stepping-range", "function-finished", ""):
            return await self._line_reached(step)
        return None

    async def stopped_natively(self, reason: Reason, event: engine.NativeStopped) -> None:
        """A stop of gdb's is about to be shown: it ends the step, or cuts it short.

        One that was cut short still ends on debugpy's side, when the user goes on.
        """
        step = self._step
        done = reason is Reason.STEP
        if step is not None and not done and event.gdb_thread == step.gdb_thread:
            if event.gdb_breakpoint is not None and event.pc in step.entries.values():
                # A breakpoint of the user's where the step was to end.
                done = await self._entered(step, event)
            elif step.top is not None:
                pointer = await self.crossing.stack_pointer(step.gdb_thread)
                done = native_step_done(step.kind, step.top, pointer)
        self._unfinished.cut_short(step, reason, done, self._python_outstanding)
        await self.settled(done)

    async def stopped_in_python(self, reason: Reason, hold: PythonHold) -> None:
        """A stop of debugpy's is about to be shown; debugpy has forgotten the step that led there or did not."""
        step = self._step
        done = reason is Reason.STEP
        if step is not None and not done and hold.tid == step.tid:
            natively = step.top is not None
            done = step.kind == "step" if natively else python_step_done(step.kind, step.depth, hold.depth)
        self._unfinished.cut_short(step, reason, done, False)
        await self.cancel_native()
        await self.settled(True)

    def tell_unfinished(self) -> None:
        """The stop is shown: tell what became of the step that it cut short."""
        self._unfinished.tell()

    async def settled(self, completed: bool) -> None:
        """What was set for the step under way is taken back; ``completed``: debugpy has nothing to end any more."""
        step, self._step = self._step, None
        if completed:
            self._python_outstanding = False
        self._native_outstanding = False
        if step is not None:
            calls = step.calls.numbers if step.calls is not None else ()
            await self.crossing.remove([*step.landings, *step.entries, *step.chosen, *calls])

    def python_stop_counts(self, event: engine.PythonStopped, depth: int) -> bool:
        """False for the late end of a debugpy step that another stop has ended, or that a landing is to end.

        debugpy stops on the caller's line while the function is only about to return (``depth`` counts its
        frames); when native code called the function, the step ends there.
        """
        if event.reason != "step":
            return True
        step = self._step
        if step is not None and step.landings and depth < step.depth:
            return False
        counted, self._python_outstanding = self._python_outstanding, False
        return counted

    def repeats(self, hold: PythonHold) -> bool:
        """Whether debugpy ended a step of ``until`` at a line that is not below the one that was left, in its frame."""
        step = self._step
        if step is None or step.kind != "until" or step.origin is None or hold.event.reason != "step":
            return False
        top = self._session.inspector.python_top(hold)
        same = hold.tid == step.tid and hold.depth == step.depth and top is not None
        return same and is_not_below(top, step.origin)

    @property
    def in_python(self) -> Step | None:
        """The step that debugpy works on."""
        return self._step if self._python_outstanding else None

    async def cancel_native(self) -> None:
        """debugpy ended a step that gdb is still working on: gdb is to forget it."""
        if self._native_outstanding:
            self._native_outstanding = False

            async def nothing() -> None:
                return None

            await self._session.interrupted(nothing)

    # -- from a Python stop -----------------------------------------------------------------------

    async def _step_python(self, kind: str, more: dict[str, Any], tid: int) -> None:
        session = self._session
        gdb_thread = await session.inspector.gdb_thread(tid)
        hold = await self.python_hold(tid)
        step = Step(kind, tid, gdb_thread, python=True, depth=hold.depth)
        step.origin = session.inspector.python_top(hold)
        returns = kind in ("finish", "until") or await self.crossing.line_returns(hold)
        if returns:
            await self._expect_native_caller(step)
        if kind == "step":
            await self._expect_entries(step, await self.crossing.begin_watch(hold))
            await self._expect_operators(step)
        else:
            await self.crossing.end_watch()
        self._step = step
        self._python_outstanding = True
        self._unfinished.begun(step)
        self._go_python(step.request, {"threadId": hold.event.debugpy_thread, **more})

    async def python_hold(self, tid: int) -> PythonHold:
        """What debugpy knows of a thread that it holds at a Python stop: the one of the stop, or another one.

        debugpy suspends every thread that runs Python code; one in native code runs on, and cannot be stepped.
        """
        session = self._session
        for hold in session.python_holds.values():
            if hold.tid == tid:
                return hold
        await session.inspector.thread_list.all()  # which of debugpy's numbers is which thread
        number = session.inspector.debugpy_thread(tid)
        hold = PythonHold(engine.PythonStopped("step", number or 0), tid, judged=True)
        visible = (await session.inspector.stack(tid)).visible()
        if number is None or not visible or not isinstance(visible[0], PythonFrame):
            raise WrongState(
                f"thread {tid} is in native code, and runs on while Python is stopped",
                "stop it natively first: a breakpoint in that code, or continue and Ctrl-C while it is there",
            )
        if not await session.inspector.read_hold(hold):
            raise WrongState("a native stop came first", "look at the new stop")
        return hold

    async def _expect_native_caller(self, step: Step) -> None:
        """A Python function that native code called returns into that code: be there."""
        stack = await self._session.inspector.stack(step.tid)
        caller = caller_of_python(stack)
        if caller is not None and self.crossing.is_interesting(caller.pc):
            await self._session.interrupted(lambda: self._expect_return(step, caller))

    async def _expect_return(self, step: Step, caller: NativeFrame) -> None:
        step.landings[await self.crossing.insert_return(caller, step.gdb_thread)] = caller.sp or 0

    async def _expect_entries(self, step: Step, addresses: list[int]) -> None:
        step.entries.update(await self.crossing.insert_entries(addresses, step.gdb_thread))

    async def _expect_operators(self, step: Step) -> None:
        if self.crossing.calls_operator:
            step.entries.update(await self.crossing.insert_operators(step.gdb_thread))

    async def _entered(self, step: Step, event: engine.NativeStopped) -> bool:
        """Native code was entered; it counts when the line that was left called it itself."""
        if event.gdb_thread != step.gdb_thread:
            return False
        stack = await self._session.inspector.stack_while_held(step.tid)
        python = (frame for frame in stack.visible() if isinstance(frame, PythonFrame))
        caller = next((frame for frame in python if not calls_operators(frame)), None)
        origin = step.origin
        if origin is not None and caller is not None and not same_line(caller, origin):
            return False
        return not await self._pass_binding(step, stack) and not await self._pass_glue(step, stack)

    async def _pass_binding(self, step: Step, stack: Stack) -> bool:
        """In the binding of an operator of PyTorch: on to the layer of it that the user wants to see, if another."""
        top = stack.frames[0] if stack.frames else None
        if not isinstance(top, NativeFrame):
            return False
        behind = self.behind_binding(top.pc, self.step_into)
        step.entries.update(await self.crossing.insert_at(behind, step.gdb_thread))
        return bool(behind)

    async def _pass_glue(self, step: Step, stack: Stack) -> bool:
        """In a binding layer with debug info: on to the user's code that it calls; False where there is none."""
        top = stack.frames[0] if stack.frames else None
        if not isinstance(top, NativeFrame) or top.line is None:
            return False
        if top.role is not Role.GLUE and not is_header(top):
            return False
        if not step.bodies:
            step.bodies = True
            step.entries.update(await self.crossing.insert_bodies(top.pc, step.gdb_thread))
        return True

    async def _expect_late_breakpoints(self) -> Step | None:
        """What the user said of Python breakpoints at this stop counts from the next Python line on."""
        session = self._session
        assert session.stop is not None
        tid = session.stop.thread.tid
        exit_place = await late_breakpoints.hear(session, self.crossing, tid)
        if exit_place is None:
            return None
        step = Step(_CONTINUE, tid, await session.inspector.gdb_thread(tid))
        await self._expect_return(step, exit_place)
        return step

    # -- from a native stop -----------------------------------------------------------------------

    async def _step_native(self, step: Step) -> None:
        kind = step.kind
        stack = await self._session.inspector.stack(step.tid)
        visible = stack.visible()
        if visible and isinstance(visible[0], PythonFrame):
            await self._step_from_python_line(step, visible[0])
            return
        top = stack.frames[0] if stack.frames else None
        has_line = isinstance(top, NativeFrame) and top.line is not None
        step.top = top if isinstance(top, NativeFrame) else None
        may_enter = isinstance(top, NativeFrame) and (has_line or self.crossing.is_entry(top.pc))
        if kind == "step" and may_enter and await self.crossing.may_call_python(step.tid):
            self._python_outstanding = await self.crossing.arm(step.gdb_thread, "step")
            step.python = self._python_outstanding
            self._unfinished.begun(step)
        exit_place = await self.crossing.exit_to_python(step.gdb_thread)
        if exit_place is not None:
            await self._expect_return(step, exit_place)
        if kind == "step" and isinstance(top, NativeFrame) and not has_line:
            step.calls = await watch_calls(self._session, self.crossing, top.pc, step.gdb_thread)
        if kind == "finish" or not has_line:
            await self._finish_native(step, stack, exit_place is not None)
            return
        await self._go_native(_NATIVE_COMMANDS[kind], step)

    async def _call_reached(self, step: Step, calls: CallEntries, event: engine.NativeStopped) -> bool:
        """A call of the function without debug info, or the function that it calls: that one ends the step."""
        if event.gdb_thread != step.gdb_thread:
            return False
        if event.gdb_breakpoint in calls.sites:
            await pointer_followed(self._session, self.crossing, calls, step.gdb_thread)
            return False
        return await called_from_here(self._session, calls, step.gdb_thread)

    async def _finish_native(self, step: Step, stack: Stack, has_exit: bool) -> None:
        """To the next frame of the user's: a native caller, else the Python line, which has its landing already."""
        caller = native_caller(stack, glue_too=step.calls is not None)
        if caller is not None:
            await self._expect_return(step, caller)
        elif not has_exit:
            await self._go_native("-exec-finish", step)
            return
        await self._go_native("-exec-continue", step)

    async def _step_from_python_line(self, step: Step, line: PythonFrame) -> None:
        """gdb holds a thread in the interpreter, on a Python line: let debugpy end the step."""
        if not await self._session.inspector.holds_gil(step.tid):
            raise WrongState(
                "the thread is inside the interpreter and does not hold the GIL: it cannot be stepped from here",
                "type continue, or set a breakpoint",
            )
        command = "next" if step.kind == "until" else step.kind
        if not await self.crossing.arm(step.gdb_thread, command):
            raise WrongState(
                "debugpy is not in the target any more, so Python cannot be stepped", "type continue"
            )
        step.origin = line
        step.python = True
        self._python_outstanding = True
        self._unfinished.begun(step)
        if step.kind == "step":
            await self._expect_entries(step, self.crossing.watched_entries)
            await self._expect_operators(step)
        await self._go_native("-exec-continue", step)

    async def _line_reached(self, step: Step) -> bool:
        """gdb ended a source step; in a binding layer it goes on to where the user's code is."""
        stack = await self._session.inspector.stack_while_held(step.tid)
        top = stack.frames[0] if stack.frames else None
        if not isinstance(top, NativeFrame) or (
            top.role is Role.USER and not (step.entries and is_header(top))
        ):
            return True
        if step.entries or step.kind == "step":
            return not await self._pass_glue(step, stack)
        return not step.landings  # next left the user's function: run on to the landing

    # -- going ------------------------------------------------------------------------------------

    def _go_python(self, command: str, more: dict[str, Any] | None = None) -> None:
        session = self._session
        assert session.python is not None
        thread = next(iter(session.python_holds), None)
        if thread is None:
            raise CommandError("debugpy holds no thread", "pause the target first")
        undo = session.leave()
        held = dict(session.python_holds)
        session.python_holds.clear()

        def refused(error: CommandError) -> None:
            session.python_holds.update(held)
            undo()
            session.emit(Notice("error", f"{command} was refused: {error.message}"))

        session.python.post(command, {"threadId": thread, **(more or {})}, refused)

    async def _go_native(self, command: str, step: Step | None) -> None:
        session = self._session
        self._step = step
        undo = session.leave()
        try:
            await session.freezer.park()
            runs = step.gdb_thread if step is not None and command != "-exec-continue" else None
            await session.native.execute(command, runs)
        except CommandError:
            undo()
            await session.freezer.release()
            await self.settled(True)
            raise
        self._native_outstanding = command != "-exec-continue"
        session.native_hold = None
        if session.python_holds:
            session.background(session.python_stops.announce())
