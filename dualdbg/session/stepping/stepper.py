"""Going on from a stop: continue, next, step, finish and until, within a language and across the boundary.

Two engines may end a step, and whichever stops first wins. Momentary breakpoints of gdb catch the way from Python into
native code and back out of it; debugpy catches Python lines. docs/stepping.md has the table of what lands where.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...model import State
from ..loop import Loop
from .departure import NativeDeparture, PythonDeparture
from .destination import Destination
from .ground import GroundReader
from .plan import (
    INSTRUCTION_STEPS,
    GroundFact,
    NativeGround,
    NativePlan,
    PythonPlan,
    plan_continue,
    plan_goto,
    plan_native_goto,
    plan_native_step,
    plan_python_step,
)


class Stepper:
    """Carries out the commands: it reads what the plan needs to know, makes the plan, and has it performed."""

    def __init__(
        self,
        loop: Loop,
        ground: GroundReader,
        native: NativeDeparture,
        python: PythonDeparture,
        destination: Destination,
    ) -> None:
        self._loop = loop
        self._ground = ground
        self._native = native
        self._python = python
        self._destination = destination

    async def resume(self) -> None:
        """Let the target run on."""
        if self._loop.state.phase is not State.NATIVE_STOPPED:
            await self._python.perform(PythonPlan())
            return
        stop = self._loop.state.require_stopped()
        ground = self._ground.at_native_stop(stop.thread.tid, stop)
        await self._native.perform(await self._ground.native_plan(ground, plan_continue))

    async def step(self, kind: str, location: str | None, target: int | None, tid: int) -> None:
        """A step of the thread ``tid``, as :meth:`Session.step` has it."""
        self._native.check_runs(tid)
        if kind == "until" and location is not None:
            await self._destination.set(location)
            await self.resume()
        elif kind == "goto" and self._loop.state.phase is State.NATIVE_STOPPED and target is not None:
            await self._perform_natively(partial(plan_native_goto, target), tid)
        elif kind == "goto":
            await self._python.perform(plan_goto(target))
        elif kind in INSTRUCTION_STEPS or self._loop.state.phase is State.NATIVE_STOPPED:
            await self._step_natively(kind, target, tid)
        else:
            ground = await self._ground.at_python_stop(tid)
            plan = partial(plan_python_step, kind, target)
            await self._python.perform(await self._ground.python_plan(ground, plan))

    async def _step_natively(self, kind: str, target: int | None, tid: int) -> None:
        self._loop.state.require(State.NATIVE_STOPPED)
        await self._perform_natively(partial(plan_native_step, kind, target), tid)

    async def _perform_natively(
        self, plan: Callable[[NativeGround], NativePlan | GroundFact], tid: int
    ) -> None:
        ground = self._ground.at_native_stop(tid, self._loop.state.require_stopped())
        await self._native.perform(await self._ground.native_plan(ground, plan))
