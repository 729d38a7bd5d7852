"""A debugpy that keeps its protocol's promises about a world, each answer after a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from dualdbg.backends.events import PythonContinued, PythonOutput
from dualdbg.backends.python import PythonRequest
from dualdbg.errors import CommandError, EngineLost

from .world import FILE, LINE, TIDS, NoAnswer, World

# The frame ids of a thread: this, times debugpy's number of it, and the number of the frame.
_FRAMES = 1000
# How pydevd begins to explain why a step went on to the next line.
SKIPPED = (
    "Frame skipped from debugging during step-in.\nNote: may have been skipped because of the step filters.\n"
)
# May be posted while gdb holds the program: debugpy reads it when that runs again.
_FOR_LATER = ("disconnect", "setBreakpoints", "setExceptionBreakpoints")


class FakeDebugpy:
    """Answers nothing while gdb holds the program; what was asked then is answered when it runs again.

    Requests are taken in their order. Only an expression, which runs code of the program, is waited for beside them.
    """

    python_version = "3.11.7"
    configured = True

    def __init__(self, world: World) -> None:
        self._world = world
        # Whether gdb shows a stop, as far as the session knows.
        self.is_shown: Callable[[], bool] = lambda: False
        self._pipe = asyncio.Lock()
        self._number = 0
        self.pausing = False
        self.silent = 0  # requests that it does not answer
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def connected(self) -> bool:
        return self._world.debugpy_alive

    def request(self, request: PythonRequest[Any], deadline: float = 20.0) -> Coroutine[Any, Any, Any]:
        """Who asks gives way to a native stop, even to one that comes in this very moment."""
        self._check_hears(request)
        return self._requested(request, deadline)

    async def _requested(self, request: PythonRequest[Any], deadline: float) -> Any:
        if not self._world.debugpy_alive:
            raise EngineLost("debugpy is not connected")
        if request.command in ("evaluate", "stackTrace") and self._world.chance.random() < 0.01:
            self.silent += 1
            asked = request.arguments or {}
            self._world.is_left_unread(asked.get("threadId", asked.get("frameId", 0) // _FRAMES))
            await asyncio.sleep(deadline)
            self.silent -= 1
            raise NoAnswer(f"debugpy did not answer {request.command} within {deadline:g} s")
        return await self._answer(request)

    def post(
        self,
        request: PythonRequest[Any],
        on_refused: Callable[[Any], None] | None = None,
        on_answer: Callable[[Any], None] | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> None:
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
        self._check_hears(request)

    def _check_hears(self, request: PythonRequest[Any]) -> None:
        if request.command not in _FOR_LATER and self.is_shown() and self._world.held is not None:
            self._world.broken.append(f"{request.command} was asked of a mute debugpy")

    async def _answer(self, request: PythonRequest[Any]) -> Any:
        handle, arguments = _HANDLERS[request.command], request.arguments or {}
        programs = self._world.programs
        async with self._pipe:
            await self._until_it_runs(programs)
            if request.command != "evaluate":
                return request.read(handle(self, arguments) or {})
        await asyncio.sleep(self._world.chance.choice((0.0, 0.0, 0.1)))
        await self._until_it_runs(programs)
        return request.read(handle(self, arguments) or {})

    async def serve(self, reader: object, writer: object) -> None:
        raise AssertionError("no program of this world calls")

    def renew(self) -> None:
        """The debugpy of another program; nothing is asked of that one yet."""
        self.pausing = False

    async def _until_it_runs(self, programs: int) -> None:
        await asyncio.sleep(self._world.delay())
        while self._world.held is not None:
            await self._world.thawed.wait()
            await asyncio.sleep(self._world.delay())
        if not self._world.debugpy_alive or not self._world.alive or self._world.programs != programs:
            raise EngineLost("debugpy is gone")

    def pass_over_library(self) -> None:
        """A step goes through code of a library."""
        self._world.report(PythonOutput("important", SKIPPED))

    # -- requests ----------------------------------------------------------------------------------

    def _stack(self, arguments: dict[str, Any]) -> dict[str, Any]:
        number = arguments["threadId"]
        held = self._world.python.get(number)
        if held is None:
            raise CommandError("thread is not suspended")
        names = ("p", "q", "r")[: held.depth]
        frames = [
            {"id": number * _FRAMES + at, "name": name, "source": {"path": FILE}, "line": LINE + at}
            for at, name in enumerate(names)
        ]
        return {"stackFrames": frames[: arguments.get("levels")], "totalFrames": held.depth}

    def _go(self, arguments: dict[str, Any], step: str | None = None) -> None:
        world = self._world
        for number, held in world.python.items():
            if held.counts and not held.told and held.changes == world.changes:
                world.broken.append(f"debugpy lets thread {number} go, and {held.mark} was never told")
        if (
            step in ("goto", "stepIn") and world.chance.random() < 0.4
        ):  # to a place or a function that the user chose
            raise CommandError("cannot do that here")
        threads = list(world.python)
        world.python.clear()
        world.python_step = None if step == "goto" else step
        for number in threads:
            world.report(PythonContinued(number))

    def _pause(self, arguments: dict[str, Any]) -> None:
        if self._world.chance.random() < 0.3:
            raise CommandError("cannot pause")
        self.pausing = True

    def _evaluate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        number = arguments["frameId"] // _FRAMES
        expression = arguments["expression"]
        if "_active" in expression:  # the list of all threads
            rows = [(tid, f"Thread-{one}", one, False) for one, tid in TIDS.items()]
            return {"result": repr(rows)}
        if "get_native_id" in expression:
            # In a thread that it has let go of meanwhile there is no such frame any more.
            return {"result": str(TIDS[number]) if number in self._world.python else "None"}
        if self._world.chance.random() < 0.05:
            raise CommandError("NameError: name 'x' is not defined")
        return {"result": "1"}

    def _set_breakpoints(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """debugpy numbers its breakpoints anew each time."""
        rows = []
        for wanted in arguments["breakpoints"]:
            self._number += 1
            rows.append({"id": self._number, "verified": True, "line": wanted["line"]})
        self._world.lines = tuple(row["id"] for row in rows)
        return {"breakpoints": rows}

    def _exception(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"breakMode": "always"}

    def _nothing(self, arguments: dict[str, Any]) -> None:
        return None

    async def hang_up(self, deadline: float) -> bool:
        return True

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


_HANDLERS: dict[str, Callable[[FakeDebugpy, dict[str, Any]], dict[str, Any] | None]] = {
    "stackTrace": FakeDebugpy._stack,
    "continue": FakeDebugpy._go,
    "next": lambda self, arguments: self._go(arguments, "next"),
    "stepIn": lambda self, arguments: self._go(arguments, "stepIn"),
    "stepOut": lambda self, arguments: self._go(arguments, "stepOut"),
    "goto": lambda self, arguments: self._go(arguments, "goto"),
    "pause": FakeDebugpy._pause,
    "evaluate": FakeDebugpy._evaluate,
    "exceptionInfo": FakeDebugpy._exception,
    "setBreakpoints": FakeDebugpy._set_breakpoints,
    "setExceptionBreakpoints": FakeDebugpy._nothing,
    "disconnect": FakeDebugpy._nothing,
}
