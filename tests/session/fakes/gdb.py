"""A gdb that keeps its protocol's promises about a world, each answer after a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from dualdbg.backends.events import NativeRefused, NativeWentOn, StopCause
from dualdbg.backends.native import Move
from dualdbg.errors import AnswerOwed, CommandError, EngineLost
from dualdbg.shared.requests import breakpoints, code, process, threads
from dualdbg.shared.requests.base import Request
from dualdbg.shared.requests.breakpoints import ReturnAddress, StepEndNumbers

from .world import Point, World

GDB_PID = 4242
_SYSTEM_CALL = b"\x90\x0f\x05"


class FakeGdb:
    """Commands are taken in the order in which they were given, one at a time, as gdb takes them from its pipe.

    What was given is carried out, also when nobody waits for it any more.
    """

    version = "13.1"
    pid = GDB_PID
    probes = SimpleNamespace(left_out={})

    def __init__(self, world: World) -> None:
        self._world = world
        self._pipe = asyncio.Lock()
        self._number = 100
        self.exits = 0
        self.closed = False
        self.under_way: set[asyncio.Future[Any]] = set()
        self._late: list[asyncio.Task[None]] = []  # answers that nobody waits for any more

        self._answers: dict[type[Request[Any]], Callable[..., Any]] = {
            breakpoints.DeleteBreakpoints: self._delete_step_breakpoints,
            breakpoints.EvaluateCondition: self._evaluate_condition,
            breakpoints.FindCallerAtEntry: lambda gdb_thread: ReturnAddress(0x180, 64),
            breakpoints.InsertBreakpoint: lambda address, gdb_thread: self._new_point(),
            breakpoints.InsertBreakpoints: self._set_all,
            breakpoints.InsertStepEnds: self._insert_step_ends,
            breakpoints.InsertWatchpoint: lambda *words: self._new_point(StopCause.WATCHPOINT),
            breakpoints.ReadStepResult: lambda: None,
            code.FindFunctionBodies: list,
            code.FindLinesOfSource: lambda address: [],
            process.ForgetProgram: lambda: None,
            process.Park: lambda gdb_threads, instruction: self._set_parked(gdb_threads),
            process.Unpark: lambda: self._set_parked(()),
            threads.ListThreads: lambda: dict(world.threads),
            threads.ReadArchitecture: lambda: "x86-64",
            threads.ReadFaultAddress: lambda: None,
            threads.ReadMemory: lambda address, length: _SYSTEM_CALL,
            threads.ReadRegisters: lambda gdb_thread, names: dict.fromkeys(names, 256),
            threads.WasSentByTerminal: self._was_sent_by_terminal,
        }

    async def ask(self, request: Request[Any], deadline: float | None = None) -> Any:
        answer = partial(self._answers[type(request)], *request)
        return answer() if request.is_constant else await self._command(answer)

    def tell(self, request: Request[None]) -> None:
        if not self._world.gdb_alive or self.closed:
            raise EngineLost("gdb is gone")
        given = asyncio.ensure_future(self.ask(request))
        given.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _was_sent_by_terminal(self) -> bool:
        who = self._world.interrupt_sender
        if who is None:
            raise CommandError("gdb: Unable to read siginfo")
        return who == "terminal"

    @property
    def running(self) -> bool:
        return self._world.held is None

    async def _command(self, act: Callable[[], Any] = lambda: None) -> Any:
        given = asyncio.ensure_future(self._carry_out(act))
        self.under_way.add(given)
        given.add_done_callback(self.under_way.discard)
        try:
            return await asyncio.shield(given)
        except asyncio.CancelledError:
            given.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise

    async def _carry_out(self, act: Callable[[], Any]) -> Any:
        async with self._pipe:
            await asyncio.sleep(self._world.delay())
            if not self._world.gdb_alive or self.closed:
                raise EngineLost("gdb is gone")
            done = act()
        await asyncio.sleep(self._world.delay())  # the answer's way back
        return done

    def _let_run(self, how: str, signal: bool = False) -> None:
        world = self._world
        if not world.alive:
            raise CommandError("gdb: No such process")
        world.let_run(how, signal)

    async def resume(self) -> None:
        def go() -> None:
            if not self._world.killed and self._world.chance.random() < 0.02:
                raise CommandError("gdb: Cannot insert breakpoint 1")
            self._let_run("resume")

        await self._command(go)

    async def resume_with_signal(self, name: str) -> None:
        await self._command(lambda: self._let_run("resume with signal", signal=True))

    async def move(
        self, move: Move, gdb_thread: int | None = None, level: int = 0, address: int | None = None
    ) -> None:
        late = self._world.chance.random() < 0.04

        def go() -> None:
            if self._world.chance.random() < (0.3 if late else 0.05):
                raise CommandError("gdb: Cannot execute this command")
            self._let_run(move.name)
            if move is not Move.CONTINUE:
                self._world.stepping = move.name

        if late:
            self._late.append(asyncio.ensure_future(self._go_late(go)))
            raise AnswerOwed("gdb did not answer -exec-continue within 30 s")
        await self._command(go)

    async def _go_late(self, go: Callable[[], None]) -> None:
        await asyncio.sleep(self._world.chance.choice((0.01, 1.0, 5.0)))
        try:
            await self._command(go)
        except CommandError as error:
            self._world.not_left = self._world.mark
            self._world.report(NativeRefused(error.message))
        except EngineLost:
            return
        else:
            self._world.report(NativeWentOn())

    async def interrupt(self) -> None:
        def send() -> None:
            if self._world.chance.random() < 0.03:
                raise CommandError("gdb: Cannot execute this command")
            if self._world.runs or self._world.chance.random() < 0.5:
                self._world.interrupt_for_gdb()

        await self._command(send)

    async def call(self, number: int | None) -> None:
        """Run a function of the program, which meets this breakpoint."""
        held = self._world.held
        await self._command(lambda: self._world.call(held, number))

    async def kill(self) -> None:
        await self._command(lambda: self._world.exit() if self._world.killed else None)

    async def detach(self) -> None:
        def let_go() -> None:
            world = self._world
            if world.held is None and world.alive:
                world.broken.append("detach: gdb does not hold the target")
            world.detached = True
            world.held = None
            world.thawed.set()

        await self._command(let_go)

    def wake(self) -> None:
        pass

    async def close(self, grace: float = 2.0) -> bool:
        """gdb lets go of what it was attached to when it ends."""
        self.closed = True
        self._world.detached = self._world.detached or self._world.gdb_alive
        self._world.held = None
        self._world.thawed.set()
        return True

    # -- breakpoints of the user -------------------------------------------------------------------

    def _new_point(self, cause: StopCause = StopCause.BREAKPOINT) -> int:
        if self._world.chance.random() < 0.05:
            raise CommandError("gdb: Cannot access memory")
        self._number += 1
        self._world.points[self._number] = Point(cause)
        return self._number

    async def delete_breakpoint(self, number: int) -> None:
        await self._command(lambda: self._world.points.pop(number, None))

    async def enable_breakpoint(self, number: int, enabled: bool) -> None:
        def switch() -> None:
            if number in self._world.points:
                self._world.points[number].enabled = enabled

        await self._command(switch)

    async def set_condition(self, number: int, condition: str | None, gdb_thread: int | None = None) -> None:
        await self._command()

    def _evaluate_condition(self, gdb_thread: int, condition: str) -> bool:
        if self._world.chance.random() < 0.1:
            raise CommandError('gdb: No symbol "x" in current context.')
        return self._world.chance.random() < 0.5

    # -- threads that are kept from running --------------------------------------------------------

    def _set_parked(self, gdb_threads: Sequence[int]) -> None:
        if self._world.killed:
            raise CommandError("gdb: Couldn't write registers: No such process.")
        if self._world.runs:
            self._world.broken.append("threads were parked while the program ran")
        self._world.parked = set(gdb_threads)

    # -- breakpoints of a step: what they catch is up to the world ---------------------------------

    def _set_breakpoint(self, gdb_thread: int) -> int:
        self._number += 1
        self._world.step_breakpoints[self._number] = gdb_thread
        return self._number

    def _set_all(self, gdb_thread: int, rows: Sequence[object]) -> list[int]:
        return [self._set_breakpoint(gdb_thread) for _ in rows]

    def _insert_step_ends(
        self,
        gdb_thread: int,
        returns: Sequence[object],
        pads: Sequence[object],
        catches: Sequence[object],
        result: object,
    ) -> StepEndNumbers:
        if self._world.chance.random() < 0.2:
            raise CommandError("gdb: cannot access memory")
        return StepEndNumbers(*(tuple(self._set_all(gdb_thread, one)) for one in (returns, pads, catches)))

    def _delete_step_breakpoints(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._world.step_breakpoints.pop(number, None)
