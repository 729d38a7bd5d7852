"""Reads what is asked about a stop of gdb's, and prepares it for the user. The classifier decides."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...errors import CommandError
from ...model import Notice
from ..effects import PrepareNative, ReadNative
from ..loop import Loop
from ..state import TargetState
from .facts import NativeFacts, Need, Picture, Sender, Show

if TYPE_CHECKING:
    from ..breakpoints.table import BreakpointTable
    from ..engines import NativeEngine, PythonEngine
    from ..inspect.inspector import Inspector
    from ..stepping.freezing import Freezer
    from ..stepping.stepper import Stepper
    from .native_hits import NativeHits


@dataclass
class NativeStops:
    """What a stop is read with. ``before_shown``: work that is done before a stop is told."""

    loop: Loop
    native: NativeEngine
    python: PythonEngine | None
    breakpoints: BreakpointTable
    inspector: Inspector
    hits: NativeHits
    stepper: Stepper
    freezer: Freezer
    before_shown: list[Callable[[Show], Awaitable[None]]] = field(default_factory=list)

    async def read(self, effect: ReadNative) -> None:
        """Read one fact, and say that it is there. A stop that cannot be read is shown as it is."""
        if await self.loop.guarded(_READERS[effect.need](self, effect.facts)):
            self.loop.put(TargetState.native_fact_read, effect.facts)
        else:
            self._unjudged(effect.facts)

    async def prepare(self, effect: PrepareNative) -> None:
        """Read what is shown of a stop, and take back what the step had set."""
        if not await self.loop.guarded(self._prepare(effect)):
            self._unjudged(effect.facts)

    def _unjudged(self, facts: NativeFacts) -> None:
        if not self.native.running:  # a program that was killed meanwhile has no stop any more
            thread = self.inspector.plain_thread(facts.stop.thread)
            self.loop.put(TargetState.native_unjudged, facts, thread)

    # -- facts --------------------------------------------------------------------------------------

    async def _libraries(self, facts: NativeFacts) -> None:
        await self.breakpoints.libraries_changed()
        facts.done = True

    async def _program(self, facts: NativeFacts) -> None:
        await self.breakpoints.program_replaced()
        known = self.python is not None and self.python.python_version is not None
        gone = ": its Python side is gone" if known else ""
        self.loop.tell(Notice("warning", f"the program replaced itself with another (exec){gone}", ""))
        facts.done = True

    async def _sender(self, facts: NativeFacts) -> None:
        facts.sender = Sender.TERMINAL
        with contextlib.suppress(CommandError):  # not known: as if somebody at the terminal had asked for it
            if not await self.native.sent_by_terminal():
                facts.sender = Sender.OTHER

    async def _step(self, facts: NativeFacts) -> None:
        facts.ends_step = await self.stepper.ends_at(facts.stop)

    async def _met(self, facts: NativeFacts) -> None:
        facts.met = await self.hits.at_breakpoint(facts.stop)

    async def _signal(self, facts: NativeFacts) -> None:
        facts.met, facts.asked = await self.hits.at_signal(facts.stop)

    async def _thread(self, facts: NativeFacts) -> None:
        number, tid = facts.stop.gdb_thread or 1, facts.stop.thread
        if tid is None:
            tid = (await self.native.threads()).get(number, self.inspector.pid)
        facts.thread = number, tid

    async def _pause(self, facts: NativeFacts) -> None:
        """Any thread may have taken the SIGINT; who asks for a stop means the program, and so its main thread."""
        threads = await self.native.threads()
        pid = self.inspector.pid
        number = next((one for one, tid in threads.items() if tid == pid), facts.stop.gdb_thread or 1)
        facts.thread = number, threads.get(number, pid)
        connected = self.python is not None and self.python.connected
        facts.can_pause = connected and await self.inspector.runs_python(facts.thread[1])

    # -- what is shown ------------------------------------------------------------------------------

    async def _prepare(self, effect: PrepareNative) -> None:
        await self.freezer.release()
        tid = effect.hold.tid
        done = await self.stepper.stopped_natively(effect.step, effect.verdict.reason, effect.facts.stop)
        thread = await self.inspector.thread(tid)
        frame = await self.inspector.top_frame(tid)
        for work in self.before_shown:
            await work(effect.verdict)
        self.loop.put(TargetState.native_ready, effect, Picture(thread, frame, done))


_READERS: dict[Need, Callable[[NativeStops, NativeFacts], Awaitable[None]]] = {
    Need.LIBRARIES: NativeStops._libraries,
    Need.PROGRAM: NativeStops._program,
    Need.SENDER: NativeStops._sender,
    Need.STEP: NativeStops._step,
    Need.BREAKPOINTS: NativeStops._met,
    Need.SIGNAL: NativeStops._signal,
    Need.THREAD: NativeStops._thread,
    Need.PAUSE: NativeStops._pause,
}
