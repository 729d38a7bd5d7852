"""Shows the threads that debugpy holds, one after the other, when gdb holds nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..backends import events as engine
from ..errors import WrongState
from ..model import Language, Location, Reason, State, Stop, Thread
from .holds import PythonHold

if TYPE_CHECKING:
    from .session import Session
    from .step import Step


class PythonStops:
    """Takes debugpy's reports of stops."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._announcing = asyncio.Lock()
        self._leaving: Step | None = None  # goes on after an exception: what it called is left first

    async def stopped(self, event: engine.PythonStopped) -> None:
        self._session.python_holds[event.debugpy_thread] = PythonHold(event)
        self._session.background(self.announce())

    async def announce(self) -> None:
        """Show the oldest thread that debugpy holds, unless gdb's own stop is shown: then it waits its turn."""
        async with self._announcing:
            hold = next(iter(self._session.python_holds.values()), None)
            if hold is None or self._session.state is not State.RUNNING:
                return
            if hold.judged:
                await self._show_again(hold)
            else:
                try:
                    await self._announce(hold)
                except BaseException:
                    hold.judged = False  # it is not shown yet: the next time the target runs
                    raise

    async def _show_again(self, hold: PythonHold) -> None:
        """A native stop came while debugpy held this thread, and is continued: the thread stands where it stood.

        Not while an expression of the user's still runs in it: its answer calls for this again.
        """
        session = self._session
        if session.inspector.owed or not await session.inspector.read_hold(hold):
            return
        if session.state is State.RUNNING and hold in session.python_holds.values():
            self._enter(hold, Reason.PAUSE, (), "back where Python had stopped")

    async def _announce(self, hold: PythonHold) -> None:
        session = self._session
        if not await session.inspector.read_hold(hold):
            return  # a native stop came first; this one is announced when that one is continued
        if (
            session.state is not State.RUNNING
            or session.python_holds.get(hold.event.debugpy_thread) is not hold
        ):
            return
        hold.judged = True
        leaving, self._leaving = self._leaving, None
        if hold.event.reason == "step" and leaving is not None and self._is_on_the_way(hold, leaving):
            self._go_on_with(hold, leaving)
            return
        if session.stepper.repeats(hold):
            self._go_on(hold, "next")
            return
        if session.entry_expected:
            reason: Reason | None = Reason.ENTRY
            session.entry_expected = False
        elif self._was_removed(hold):
            reason = None
        elif session.stepper.python_stop_counts(hold.event, hold.depth):
            reason = session.judge.python_reason(hold.event, session.pauses.in_python)
        else:
            reason = None
        if reason is None:
            self._go_on(hold, "continue")
            return
        try:
            met = await session.breakpoints.at_python_stop(hold)
        except WrongState:
            met = [], None
        if met is None and not session.native_held.is_set():
            self._pass_over(hold)
            return
        owners, description = met or ([], None)
        await session.stepper.stopped_in_python(reason, hold)
        await session.stepper.crossing.end_watch()
        if session.state is not State.RUNNING or session.native_held.is_set():
            hold.judged = False  # a native stop came first after all: it is being shown
            return
        self._enter(hold, reason, tuple(owners), description)
        session.stepper.tell_unfinished()

    def _pass_over(self, hold: PythonHold) -> None:
        """An exception that nobody asked for: a step under way goes on, out of what it has called."""
        step = self._session.stepper.in_python
        if step is None:
            self._go_on(hold, "continue")
        else:
            self._go_on_with(hold, step)

    def _is_on_the_way(self, hold: PythonHold, step: Step) -> bool:
        """Whether the step is still in what it called, or just back on the line that called it."""
        top = self._session.inspector.python_top(hold)
        there = step.origin is not None and top is not None and top.line == step.origin.line
        return hold.depth > step.depth or (hold.depth == step.depth and there)

    def _go_on_with(self, hold: PythonHold, step: Step) -> None:
        self._leaving = step
        self._go_on(hold, "stepOut" if hold.depth > step.depth else step.request)

    def _go_on(self, hold: PythonHold, command: str) -> None:
        """The stop is none for the user."""
        self._session.python_holds.clear()
        assert self._session.python is not None
        self._session.python.post(command, {"threadId": hold.event.debugpy_thread})

    def _enter(
        self, hold: PythonHold, reason: Reason, breakpoints: tuple[int, ...], description: str | None
    ) -> None:
        session = self._session
        session.inspector.forget()
        session.epoch += 1
        tid = hold.tid or session.pid
        stop = Stop(
            session.epoch,
            Language.PYTHON,
            reason,
            Thread(tid, session.inspector.thread_name(tid)),
            session.inspector.python_top(hold),
            breakpoints,
            description,
            session.seconds(),
        )
        session.enter(State.PYTHON_STOPPED, stop)

    def _was_removed(self, hold: PythonHold) -> bool:
        """Whether the breakpoint of this stop is gone: one that was removed while gdb held the target.

        debugpy hears of that only when the target runs again, and numbers its breakpoints anew each time; so the
        place decides.
        """
        top = self._session.inspector.python_top(hold)
        if hold.event.reason != "breakpoint" or not hold.event.breakpoints or top is None:
            return False
        places = [
            location
            for row in self._session.breakpoints.all()
            if row.enabled and row.spec.language is Language.PYTHON
            for location in row.locations
            or (Location(file=top.file, line=top.line),)  # not told yet: may be it
        ]
        return not any(place.line in (top.line, None) for place in places)

    async def continued(self, event: engine.PythonContinued) -> None:
        if event.debugpy_thread is not None:
            self._session.python_holds.pop(event.debugpy_thread, None)
