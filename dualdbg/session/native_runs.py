"""gdb lets the target run and stops it as the loop decided; where gdb refuses to, the target stays stopped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from ..backends import events as engine
from ..errors import AnswerOwed, CommandError, DualdbgError
from ..model import BreakpointKind
from ..shared.proc_files import read_stat
from ..shared.requests.threads import ListThreads
from . import effects as effect
from .breakpoints.table import BreakpointTable
from .death_watch import GDB_GRACE
from .engines import NativeEngine
from .inspect.inspector import Inspector
from .loop import Loop
from .stepping.freezing import Freezer
from .stops.facts import NativeFacts
from .transitions.going_on import departed
from .transitions.halts import interrupt_failed
from .transitions.native import resume_failed


def _are_held(pid: int, tids: Iterable[int]) -> bool:
    """Whether these threads of a process are all there, and held by its tracer."""
    try:
        return all(read_stat(f"/proc/{pid}/task/{tid}/stat").state == "t" for tid in tids)
    except OSError:  # one has ended, or the whole process: that is told otherwise
        return not Path(f"/proc/{pid}").exists()


class NativeRuns:
    """Performs what concerns the run of the whole process."""

    def __init__(
        self,
        loop: Loop,
        native: NativeEngine,
        inspector: Inspector,
        freezer: Freezer,
        breakpoints: BreakpointTable,
        target_ends: Callable[[float], Awaitable[bool]],
    ) -> None:
        """``target_ends``: whether the target ends within so many seconds, as the kernel says it without another."""
        self._loop = loop
        self._native = native
        self._inspector = inspector
        self._freezer = freezer
        self._breakpoints = breakpoints
        self._target_ends = target_ends

    def resume(self, what: effect.Resume) -> None:
        """Let the target run. A refusal of gdb is told, and becomes a stop."""
        self._inspector.ran()
        self._loop.background(self._let_run(what))

    async def _let_run(self, what: effect.Resume) -> None:
        try:
            if what.signal:
                await self._native.resume_with_signal("SIGINT")
            elif what.again is not None:
                await self._native.move(*what.again)
            else:
                await self._native.resume()
        except DualdbgError as error:
            if what.dead:
                await self._native.close(grace=0.0)  # there is nothing that it could still hold
                return
            if not isinstance(error, AnswerOwed):
                await self._stays_held()
            raise

    async def _stays_held(self) -> None:
        """gdb could not let the target run: that is a stop, at which frozen threads stand as they were."""
        await self._loop.guarded(self._freezer.release())
        self._loop.put(resume_failed, self._inspector.plain_thread(None))

    def release(self) -> None:
        """Put frozen threads back to where they stood."""
        self._loop.background(self._loop.guarded(self._freezer.release()))

    def interrupt(self, what: effect.Interrupt) -> None:
        """Have gdb stop the target."""
        self._loop.background(self._ask_gdb_to_stop())

    async def _ask_gdb_to_stop(self) -> None:
        try:
            await self._native.interrupt()
        except DualdbgError as error:
            self._loop.put(interrupt_failed, error)

    def went_on(self) -> None:
        """gdb lets the target run, as it was asked to long before."""
        self._loop.put(departed)

    def refused(self, event: engine.NativeRefused) -> None:
        """gdb had taken a request to let the target run, and gave up."""
        self._loop.background(self._not_resumed(event, self._loop.state.facts))

    async def _runs_on(self, facts: NativeFacts | None) -> bool:
        """Whether gdb gave up in the middle: one of the threads that it let run replaces the program (exec), and the
        others are gone. gdb stops there, perhaps already: ``facts`` are of the stop before.
        """
        tids = (await self._native.ask(ListThreads())).values()
        if self._loop.state.facts is not facts or self._native.exits:
            return True
        return not _are_held(self._loop.state.pid, tids)

    async def _not_resumed(self, event: engine.NativeRefused, facts: NativeFacts | None) -> None:
        if await self._target_ends(GDB_GRACE):
            await self._native.close(grace=0.0)  # there is nothing that it could still hold
            return
        if await self._runs_on(facts):
            return
        await self._stays_held()
        watches = any(
            row.spec.kind is BreakpointKind.WATCH and row.enabled for row in self._breakpoints.all()
        )
        hint = (
            "the numbers are gdb's; the processor watches four times 8 bytes: disable or delete a watchpoint"
        )
        raise CommandError(f"gdb could not let the target run: {event.text}", hint if watches else "")
