"""Performs a plan (``plan.py``): sets its breakpoints, and lets the target leave the stop."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from functools import partial

from ...backends.events import StopCause
from ...backends.native import Move
from ...errors import AnswerOwed, CommandError, DualdbgError, WrongState
from ...shared.proc_files import read_status
from ...system.waiting import first_of, to_its_end
from ..engines import Running
from ..loop import Loop
from ..transitions.going_on import departed, leave_in_python, leave_natively, native_refused
from .freezing import Freezer
from .line_watch import LineWatch
from .momentary_breakpoints import MomentaryBreakpoints
from .plan import NativePlan, PythonPlan, Watch
from .probe import Probe
from .stop_points import Momentary

_BY_GDB = (Move.NEXT, Move.STEP, Move.UNTIL, Move.NEXT_INSTRUCTION)  # gdb steps over calls, some or all


class NativeDeparture:
    """Leaves a native stop: gdb lets the target run."""

    def __init__(
        self,
        loop: Loop,
        native: Running,
        freezer: Freezer,
        breakpoints: MomentaryBreakpoints,
        watch: LineWatch,
        probe: Probe,
    ) -> None:
        self._watch = watch
        self._loop = loop
        self._native = native
        self._freezer = freezer
        self._breakpoints = breakpoints
        self._probe = probe

    def check_runs(self, tid: int) -> None:
        """Raises WrongState for a frozen thread."""
        self._freezer.check_runs(tid)

    async def perform(self, plan: NativePlan) -> None:
        """Perform the plan, until gdb has let the target run.

        Raises CommandError when gdb refuses: the stop is as it was then; AnswerOwed when gdb does not say in time
        whether it lets the target run: what it says later is an event.
        """
        momentary = Momentary()
        armed: int | None = None
        if plan.step is None or not plan.step.watches:
            await self._watch.hear(False)
        if plan.gdb_thread is not None:
            armed = await self._prepare(plan, plan.gdb_thread, momentary)
        await self._breakpoints.begin(momentary)
        await to_its_end(self._let_go(plan, armed))

    async def _prepare(self, plan: NativePlan, gdb_thread: int, momentary: Momentary) -> int | None:
        """Prepare the thread before it runs.

        Returns how many Python frames the thread has when debugpy was armed, 0 when it could not be armed, and None
        when the plan did not ask for it.
        """
        if plan.hear is not None:
            await self._probe.hear(gdb_thread, plan.hear)
        armed = await self._arm(plan, gdb_thread)
        if plan.step is not None and plan.step.watches:
            ask = partial(self._probe.begin_step, gdb_thread)
            reached = await self._watch.begin_by(ask, plan.step.origin)
            await self._breakpoints.set(reached, gdb_thread, momentary)
        if plan.move in _BY_GDB:
            await self._breakpoints.let_gdb_step()
        with_breakpoints = self._breakpoints.set(plan.places, gdb_thread, momentary)
        await self._breakpoints.all_or_none(with_breakpoints, momentary)
        return armed

    async def _arm(self, plan: NativePlan, gdb_thread: int) -> int | None:
        if plan.arm is None:
            return None
        armed = await self._probe.arm(gdb_thread, plan.arm)
        if plan.must_arm and not armed:
            raise WrongState(
                "debugpy is not in the target any more, so Python cannot be stepped", "type continue"
            )
        return armed

    async def _let_go(self, plan: NativePlan, armed: int | None) -> None:
        step = plan.step
        if step is not None and step.origin is not None and armed:
            step = replace(step, depth=armed)
        steps_in_python = None if armed is None else bool(armed)
        continues = plan.move in (Move.CONTINUE, Move.JUMP)  # a step that gdb does not end by itself
        due = self._due_signal() if plan.move is Move.CONTINUE else None
        await self._loop.ask(leave_natively, step, not continues, steps_in_python, due == "SIGINT")
        try:
            await self._freezer.park()
            if due is not None:
                await self._native.resume_with_signal(due)
            else:
                thread = None if plan.move is Move.CONTINUE else plan.gdb_thread
                await self._native.move(plan.move, thread, plan.level, plan.places.moved_to)
        except AnswerOwed:
            raise
        except DualdbgError:
            await self._loop.ask(native_refused)
            await self._loop.guarded(self._freezer.release())
            await self._loop.guarded(self._breakpoints.take_back())
            raise
        await self._loop.ask(departed)

    def _due_signal(self) -> str | None:
        """Return what gdb does not pass on by itself: a SIGINT that is owed, a SIGTRAP that the program handles."""
        state = self._loop.state
        if state.signal_owed:
            return "SIGINT"
        stop = state.facts.stop if state.facts is not None else None
        if stop is None or stop.cause is not StopCause.SIGNAL or stop.signal != "SIGTRAP":
            return None
        return "SIGTRAP" if _handles_traps(state.pid) else None


def _handles_traps(pid: int) -> bool:
    """Whether the program has a handler for SIGTRAP (proc(5), SigCgt). Else the signal would end it."""
    try:
        caught = read_status(f"/proc/{pid}/status").get("SigCgt", "0")
    except OSError:
        return False  # it has ended, and gdb will say so
    return bool(int(caught, 16) >> (signal.SIGTRAP - 1) & 1)


class PythonDeparture:
    """Leaves a Python stop: debugpy lets its threads run."""

    def __init__(self, loop: Loop, breakpoints: MomentaryBreakpoints, watch: LineWatch) -> None:
        self._loop = loop
        self._breakpoints = breakpoints
        self._watch = watch

    async def perform(self, plan: PythonPlan) -> None:
        """Perform the plan, until debugpy was asked. Raises WrongState when a native stop comes first."""
        momentary = Momentary()
        await self._breakpoints.all_or_none(self._prepare(plan, momentary), momentary)
        if plan.step is None:
            await self._leave(plan)
            return
        await self._breakpoints.begin(momentary)
        try:
            await self._leave(plan)
        except CommandError:
            await self._breakpoints.take_back()
            raise

    async def _prepare(self, plan: PythonPlan, momentary: Momentary) -> None:
        step, watch = plan.step, self._watch
        if step is not None:
            await self._breakpoints.set(plan.places, step.gdb_thread, momentary)
        if plan.watch is Watch.END:
            await watch.end()
        elif plan.watch is Watch.BEGIN and step is not None and plan.hold is not None:
            await self._breakpoints.set(await watch.begin(plan.hold), step.gdb_thread, momentary)

    async def _leave(self, plan: PythonPlan) -> None:
        answered = asyncio.Event()
        refused: list[CommandError] = []

        def hear(error: CommandError | None) -> None:
            refused.extend([error] if error is not None else [])
            answered.set()

        listener = hear if plan.may_be_refused else None
        await self._loop.ask(leave_in_python, plan.request, plan.thread, plan.target, plan.step, listener)
        if plan.may_be_refused:
            await first_of(answered.wait(), self._loop.native_held.wait(), self._loop.ended.wait())
        for error in refused:
            raise error
