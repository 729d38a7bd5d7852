"""A gdb and a debugpy that keep their protocols' promises about a world, each answer after a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from dualdbg.backends.events import PythonContinued
from dualdbg.backends.native import Move, StepEndNumbers
from dualdbg.backends.python import PythonRequest, StackFrame, StackTrace
from dualdbg.errors import CommandError, EngineLost

from .world import MAIN, PID, World

GDB_PID = 4242


class FakeGdb:
    """Commands are taken in the order in which they were given, one at a time, as gdb takes them from its pipe."""

    version = "13.1"
    pid = GDB_PID

    def __init__(self, world: World) -> None:
        self._world = world
        self._pipe = asyncio.Lock()
        self._number = 100
        self.closed = False

    @property
    def running(self) -> bool:
        return self._world.held is None

    async def _command(self, act: Callable[[], Any] = lambda: None) -> Any:
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

    async def move(self, move: Move, gdb_thread: int | None = None, level: int = 0) -> None:
        def go() -> None:
            if self._world.chance.random() < 0.05:
                raise CommandError("gdb: Cannot execute this command")
            self._let_run(move.name)
            if move is not Move.CONTINUE:
                self._world.stepping = move.name

        await self._command(go)

    async def interrupt(self) -> None:
        def send() -> None:
            if self._world.chance.random() < 0.03:
                raise CommandError("gdb: Cannot execute this command")
            if self._world.runs or self._world.chance.random() < 0.5:
                self._world.interrupt_for_gdb()

        await self._command(send)

    async def sent_by_terminal(self) -> bool:
        def sender() -> bool:
            who = self._world.interrupt_sender
            if who is None:
                raise CommandError("gdb: Unable to read siginfo")
            return who == "terminal"

        return await self._command(sender)

    async def fault_address(self) -> int | None:
        return await self._command(lambda: None)

    async def threads(self) -> dict[int, int]:
        return await self._command(lambda: {MAIN: PID, 2: PID + 1})

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

    # -- breakpoints of a step: what they catch is up to the world ------------------------------------

    def _set_breakpoint(self, kind: str) -> int:
        self._number += 1
        self._world.step_breakpoints[self._number] = kind
        return self._number

    async def architecture(self) -> str:
        return "x86-64"

    async def function_bodies(self, addresses: Sequence[int]) -> list[int]:
        return await self._command(lambda: list(addresses))

    async def insert_breakpoints(self, gdb_thread: int, addresses: Sequence[int]) -> list[int]:
        return await self._command(lambda: [self._set_breakpoint("entry") for _ in addresses])

    async def insert_step_ends(
        self,
        gdb_thread: int,
        returns: Sequence[tuple[int, int]],
        pads: Sequence[tuple[int, int]],
        catches: Sequence[tuple[int, int]],
    ) -> StepEndNumbers:
        def set_them() -> StepEndNumbers:
            if self._world.chance.random() < 0.2:
                raise CommandError("gdb: cannot access memory")
            return StepEndNumbers(tuple(self._set_breakpoint("landing") for _ in returns))

        return await self._command(set_them)

    async def registers(self, gdb_thread: int, names: Sequence[str]) -> dict[str, int]:
        return await self._command(lambda: dict.fromkeys(names, 256))

    async def delete_breakpoints(self, numbers: Sequence[int]) -> None:
        def delete() -> None:
            for number in numbers:
                self._world.step_breakpoints.pop(number, None)

        await self._command(delete)


class FakeDebugpy:
    """Answers nothing while gdb holds the program; what was asked then is answered when it runs again."""

    python_version = "3.11.7"
    configured = True

    def __init__(self, world: World, is_shown: Callable[[], bool]) -> None:
        self._world = world
        self._is_shown = is_shown  # gdb shows a stop, as far as the session knows
        self.pausing = False
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def connected(self) -> bool:
        return self._world.debugpy_alive

    async def request(self, request: PythonRequest[Any], deadline: float = 20.0) -> Any:
        """Who asks gives way to a native stop, even to one that comes in this very moment."""
        if not self._world.debugpy_alive:
            raise EngineLost("debugpy is not connected")
        return await self._answer(request)

    def post(
        self,
        request: PythonRequest[Any],
        on_refused: Callable[[Any], None] | None = None,
        on_answer: Callable[[Any], None] | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        if request.command != "disconnect":
            self._check(request)

        async def later() -> None:
            try:
                answer = await self._answer(request)
            except CommandError as error:
                if on_refused is not None:
                    on_refused(error)
            except EngineLost:
                if on_lost is not None:
                    on_lost()
            else:
                if on_answer is not None:
                    on_answer(answer)

        self._tasks = [task for task in self._tasks if not task.done()]
        self._tasks.append(asyncio.ensure_future(later()))

    def _check(self, request: PythonRequest[Any]) -> None:
        if not self._world.debugpy_alive:
            raise EngineLost("debugpy is not connected")
        if self._is_shown() and self._world.held is not None:
            self._world.broken.append(f"{request.command} was asked of a mute debugpy")

    async def _answer(self, request: PythonRequest[Any]) -> Any:
        await asyncio.sleep(self._world.delay())
        if request.command == "evaluate":
            await asyncio.sleep(self._world.chance.choice((0.0, 0.1)))  # it runs code of the program
        while self._world.held is not None:
            await self._world.thawed.wait()
            await asyncio.sleep(self._world.delay())
        if not self._world.debugpy_alive or not self._world.alive:
            raise EngineLost("debugpy is gone")
        return _HANDLERS[request.command](self, request.arguments or {})

    def _stack(self, arguments: dict[str, Any]) -> StackTrace:
        held = self._world.python.get(arguments["threadId"])
        if held is None:
            raise CommandError("thread is not suspended")
        return StackTrace((StackFrame(1, held.mark or "f", "/x.py", 3),), 2)

    def _go(self, arguments: dict[str, Any], step: str | None = None) -> None:
        world = self._world
        for number, held in world.python.items():
            if held.counts and not held.told:
                world.broken.append(f"debugpy lets thread {number} go, and {held.mark} was never told")
        if world.chance.random() < 0.03:
            raise CommandError("cannot do that here")
        threads = list(world.python)
        world.python.clear()
        world.python_step = step
        for number in threads:
            world.report(PythonContinued(number))

    def _pause(self, arguments: dict[str, Any]) -> None:
        if self._world.chance.random() < 0.1:
            raise CommandError("cannot pause")
        self.pausing = True

    def _evaluate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"result": "1"}

    def _nothing(self, arguments: dict[str, Any]) -> None:
        return None

    async def hang_up(self, deadline: float) -> bool:
        return True

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


_HANDLERS: dict[str, Callable[[FakeDebugpy, dict[str, Any]], Any]] = {
    "stackTrace": FakeDebugpy._stack,
    "continue": FakeDebugpy._go,
    "next": lambda self, arguments: self._go(arguments, "next"),
    "stepIn": lambda self, arguments: self._go(arguments, "stepIn"),
    "stepOut": lambda self, arguments: self._go(arguments, "stepOut"),
    "goto": FakeDebugpy._go,
    "pause": FakeDebugpy._pause,
    "evaluate": FakeDebugpy._evaluate,
    "disconnect": FakeDebugpy._nothing,
}
