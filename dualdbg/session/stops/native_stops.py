"""Reads what is asked about a native stop, and prepares it for the user. The classifier decides."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...model import BreakpointKind, Reason
from ..effects import PrepareNative, ReadNative
from ..loop import Loop
from ..transitions.native import native_fact_read, native_ready, native_unjudged
from .facts import NativeFacts, Need, Show

if TYPE_CHECKING:
    from ..breakpoints.table import BreakpointTable
    from ..stepping.step_ends import StepEnds
    from .native_hits import NativeHits
    from .scene import Scene


@dataclass
class NativeStops:
    """The readers of native stops.

    ``new_program`` is awaited when the process has replaced its program with another, before its first instruction.
    ``before_shown`` is work that is done before a stop is told. ``read_meanwhile`` begins what gdb has yet to read for
    who looks at the stop.
    """

    loop: Loop
    scene: Scene
    breakpoints: BreakpointTable
    hits: NativeHits
    steps: StepEnds
    before_shown: list[Callable[[Show], Awaitable[None]]] = field(default_factory=list)
    read_meanwhile: Callable[[], None] = lambda: None
    _preparing: asyncio.Lock = field(default_factory=asyncio.Lock)
    new_program: Callable[[], Awaitable[None]] = field(init=False)

    async def read(self, effect: ReadNative) -> None:
        """Read one fact and report it. A stop that cannot be read is shown as it is."""
        if not await self.loop.guarded(self._read(effect)):
            await self._unjudged(effect.facts)

    async def _read(self, effect: ReadNative) -> None:
        self.loop.put(native_fact_read, await _READERS[effect.need](self, effect.facts))

    async def prepare(self, effect: PrepareNative) -> None:
        """Take back what the step had set, and read what is shown of the stop.

        One at a time: what is read for a stop that is told and left would be read of a running target.
        """
        async with self._preparing:
            if self.loop.state.prepared is effect and not await self.loop.guarded(self._prepare(effect)):
                await self._unjudged(effect.facts)

    async def _unjudged(self, facts: NativeFacts) -> None:
        if not self.scene.target_runs:
            await self.loop.guarded(self.scene.release())
            self.read_meanwhile()
            self.loop.put(native_unjudged, facts, self.scene.plain_thread(facts.stop))

    # -- facts --------------------------------------------------------------------------------------

    async def _libraries(self, facts: NativeFacts) -> NativeFacts:
        await self.breakpoints.libraries_changed()
        return replace(facts, done=True)

    async def _program(self, facts: NativeFacts) -> NativeFacts:
        await self.scene.program_replaced()
        self.steps.program_replaced()
        await self.new_program()
        return replace(facts, done=True)

    async def _sender(self, facts: NativeFacts) -> NativeFacts:
        return replace(facts, sender=await self.scene.sender())

    async def _step(self, facts: NativeFacts) -> NativeFacts:
        found = await self.steps.ends_at(facts.stop)
        return replace(facts, ends_step=found.ends, again=found.again)

    async def _met(self, facts: NativeFacts) -> NativeFacts:
        report = await self.breakpoints.sanitizer_report(facts.stop)
        if report is None:
            return replace(facts, met=await self.hits.at_breakpoint(facts.stop))
        is_ours = await self.hits.is_ours(facts.stop)  # as a race of debugpy's threads is
        return replace(facts, met=((), None if is_ours else report), is_report=True)

    async def _signal(self, facts: NativeFacts) -> NativeFacts:
        met, asked = await self.hits.at_signal(facts.stop)
        return replace(facts, met=met, asked=asked, fault=await self.scene.fault_address(facts.stop))

    async def _thread(self, facts: NativeFacts) -> NativeFacts:
        return replace(facts, thread=await self.scene.thread(facts.stop))

    async def _pause(self, facts: NativeFacts) -> NativeFacts:
        thread = await self.scene.main_thread(facts.stop)
        return replace(facts, thread=thread, can_pause=await self.scene.runs_python(thread[1]))

    # -- what is shown ------------------------------------------------------------------------------

    async def _prepare(self, effect: PrepareNative) -> None:
        await self.scene.release()
        step, verdict = effect.step, effect.verdict
        done, result = await self.steps.stopped_natively(step, verdict.reason, effect.facts.stop)
        picture = await self.scene.picture(effect.hold.tid, done, self._is_about_caller(verdict))
        picture = replace(picture, result=result)
        await self.breakpoints.count_all_passed_over()
        for work in self.before_shown:
            await work(verdict)
        self.read_meanwhile()
        self.loop.put(native_ready, effect, picture)

    def _is_about_caller(self, verdict: Show) -> bool:
        """Whether the stop is about the user's code that led there: a signal, a throw, or a catch."""
        kinds = BreakpointKind.THROW, BreakpointKind.CATCH
        throws = [row.id for row in self.breakpoints.all() if row.spec.kind in kinds]
        return verdict.reason is Reason.SIGNAL or any(number in throws for number in verdict.breakpoints)


_READERS: dict[Need, Callable[[NativeStops, NativeFacts], Awaitable[NativeFacts]]] = {
    Need.LIBRARIES: NativeStops._libraries,
    Need.PROGRAM: NativeStops._program,
    Need.SENDER: NativeStops._sender,
    Need.STEP: NativeStops._step,
    Need.BREAKPOINTS: NativeStops._met,
    Need.SIGNAL: NativeStops._signal,
    Need.THREAD: NativeStops._thread,
    Need.PAUSE: NativeStops._pause,
}
