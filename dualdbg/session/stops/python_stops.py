"""Reads what is asked about a Python stop, and prepares it for the user. The classifier decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...backends.events import PythonCause
from ...errors import CommandError, EngineLost, ThreadGone, WrongState
from ...model import Location, Notice, PythonFrame, Value
from ...symbols.torch.compiled_code import with_computed
from ..effects import PreparePython, ReadPython
from ..loop import Loop
from ..transitions.python import (
    python_hits_read,
    python_leaving_read,
    python_position_read,
    python_ready,
    python_unjudged,
    python_unread,
)
from .facts import Need, Picture, PythonHold, PythonPosition

if TYPE_CHECKING:
    from ..breakpoints.table import BreakpointTable
    from ..inspect.inspector import Inspector
    from ..stepping.step_ends import StepEnds
    from .python_hits import PythonHits


@dataclass
class PythonStops:
    """The readers of Python stops. ``read_meanwhile`` begins what gdb has yet to read for who looks at the stop."""

    loop: Loop
    breakpoints: BreakpointTable
    inspector: Inspector
    hits: PythonHits
    steps: StepEnds
    read_meanwhile: Callable[[], None] = lambda: None

    async def read(self, effect: ReadPython) -> None:
        """Read one fact and report it. A stop that cannot be read is shown as it is."""
        if not await self.loop.guarded(self._read(effect)):
            self.loop.put(python_unjudged, effect.hold)

    async def _read(self, effect: ReadPython) -> None:
        hold = effect.hold
        try:
            if effect.need is Need.POSITION:
                self.loop.put(python_position_read, hold, await self._position(hold))
            elif effect.need is Need.LEAVING:
                self.loop.put(python_leaving_read, hold, await self.steps.leaves_python(hold))
            else:
                self.loop.put(python_hits_read, hold, await self.hits.at_stop(hold))
        except WrongState:  # gdb came first; debugpy answers when the target runs again
            self.loop.put(python_unread, hold, not self.inspector.hears_python)
        except (ThreadGone, EngineLost):  # it has its turn again when debugpy, or another one, stops it anew
            self.loop.put(python_unread, hold, True)
        except CommandError as error:  # debugpy knows no such stop: it has let go of the thread
            self.loop.tell(Notice("error", error.message, error.hint))
            self.loop.put(python_unread, hold, True)

    async def prepare(self, effect: PreparePython) -> None:
        """Take back what the step had set. The thread is shown then."""
        hold = effect.hold
        if not hold.shown:
            await self.loop.guarded(self.steps.stopped_in_python(effect.cancel_native))
        await self.loop.guarded(self.breakpoints.count_all_passed_over())
        results: list[Value | None] = []
        await self.loop.guarded(self._read_result(hold, results))
        self.read_meanwhile()
        top = None if hold.top is None else with_computed(hold.top)
        result = results[0] if results else None
        self.loop.put(python_ready, hold, Picture(self.inspector.plain_thread(hold.tid), top, result=result))

    async def _read_result(self, hold: PythonHold, results: list[Value | None]) -> None:
        try:
            results.append(await self._result(hold))
        except WrongState:  # gdb came first; what is read is not shown now
            return

    async def _result(self, hold: PythonHold) -> Value | None:
        """What the Python function has returned that the step under way has left."""
        step, verdict = self.loop.state.step, hold.verdict
        if step is None or step.origin is None or verdict is None:
            return None
        if hold.tid != step.tid or not verdict.reason.ends_step or hold.shown or not hold.frames:
            return None
        if step.kind != "finish" and hold.depth >= step.depth:
            return None  # it has left no function
        return await self.inspector.values.returned_in_python(hold.frames[0].id, step.origin.function)

    async def _position(self, hold: PythonHold) -> PythonPosition:
        place = await self.inspector.python_position(hold.event.debugpy_thread)
        return replace(place, removed=self._was_removed(hold, place.top))

    def _was_removed(self, hold: PythonHold, top: PythonFrame | None) -> bool:
        """Whether the breakpoint of this stop was removed while gdb held the target.

        debugpy hears of that only when the target runs again. It numbers its breakpoints anew each time, so the place
        decides.
        """
        if hold.event.cause is not PythonCause.BREAKPOINT or not hold.event.breakpoints or top is None:
            return False
        places = [
            location
            for row in self.breakpoints.all()
            if row.enabled and self.breakpoints.in_python(row.id)
            for location in [one for one in row.locations if one.address is None]
            or (Location(file=top.file, line=top.line),)  # its place is not known yet: it may be here
        ]
        return not any(place.line in (top.line, None) for place in places)
