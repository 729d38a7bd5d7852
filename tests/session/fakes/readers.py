"""What the session reads and keeps besides its engines: threads, stacks, breakpoints, the means of a step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dualdbg.backends.events import NativeStopped, PythonCause, StopCause
from dualdbg.backends.python import stack_trace
from dualdbg.errors import CommandError, WrongState
from dualdbg.model import (
    Breakpoint,
    BreakpointKind,
    BreakpointSpec,
    BreakpointState,
    NativeFrame,
    PythonFrame,
    Quality,
    Stack,
    Thread,
)
from dualdbg.session.session import Session
from dualdbg.session.stops.facts import Met, PythonHold, PythonPosition
from dualdbg.session.transitions.python import answer_came, answer_owed

from .world import PID, USERS, World


class FakeRules:
    """None of the frames is the interpreter's."""

    def is_interpreter(self, frame: NativeFrame) -> bool:
        return False


class FakeReader:
    """Python code is always below."""

    rules = FakeRules()

    async def native_frames(self, tid: int, gdb_thread: int) -> list[NativeFrame]:
        return [NativeFrame(0, 0x100, "f", sp=16), NativeFrame(3, 0x900, "_PyEval_EvalFrameDefault", sp=128)]


@dataclass
class FakeInspector:
    """Threads and stacks; ``runs_python`` and the rest are what the world's chance says."""

    session: Session
    world: World
    pid: int = PID
    forgotten: int = 0
    reader: FakeReader = field(default_factory=FakeReader)

    def meet(self, stop: NativeStopped) -> None:
        return None

    def may_be_called(self, hold: PythonHold) -> bool:
        return self.world.chance.random() < 0.5

    def unseen_frames(self, hold: PythonHold) -> int:
        return self.world.chance.choice([0, 2])

    def may_be_leaving(self, hold: PythonHold) -> bool:
        return False

    def ran(self) -> None:
        return None

    def forget(self, as_read_now: bool = False) -> None:
        self.forgotten += 1

    def plain_thread(self, tid: int | None) -> Thread:
        return Thread(tid or PID, "python")

    async def thread(self, tid: int) -> Thread:
        await self._look()
        return Thread(tid, "python")

    async def visible_frames(self, tid: int) -> tuple[NativeFrame, ...]:
        await self._look()
        return (NativeFrame(0, 0x100, self.world.mark or "f"),)

    async def runs_python(self, tid: int) -> bool:
        await self._look()
        return self.world.chance.random() < 0.5

    async def holds_gil(self, tid: int) -> bool:
        return self.world.chance.random() < 0.5

    async def gdb_thread(self, tid: int) -> int:
        return 1

    async def stack(self, tid: int) -> Stack:
        native = NativeFrame(
            0, 0x100, "f", file="/x.c" if self.world.chance.random() < 0.5 else None, line=3, sp=16
        )
        caller = NativeFrame(1, 0x180, "g", file="/x.c", line=9, sp=64)
        frames: tuple[Any, ...] = (native, caller, PythonFrame("p", "/x.py", 3))
        if self.world.chance.random() < 0.3:
            frames = frames[2:]
        return Stack(tid, frames, Quality.FULL)

    stack_while_held = stack

    @property
    def hears_python(self) -> bool:
        return self.world.debugpy_alive

    async def _look(self) -> None:
        await asyncio.sleep(self.world.delay())
        if not self.world.gdb_alive:
            raise CommandError("gdb is gone")
        if self.world.killed or self.world.chance.random() < 0.02:
            raise CommandError("gdb: Couldn't get registers: No such process")
        if self.world.held is None and self.world.alive and not self.world.detached:
            self.world.broken.append("a thread was looked at while it ran")

    async def ask(self, request: Any, deadline: float = 20.0) -> Any:
        """As the real one: gives way to a native stop."""
        session = self.session
        if not self.world.debugpy_alive:
            raise WrongState("debugpy is not connected to the target")
        if session.native_held.is_set():
            raise WrongState("gdb holds the target")
        assert session.python is not None
        answer = asyncio.ensure_future(session.python.request(request))
        held = asyncio.ensure_future(session.native_held.wait())
        try:
            await asyncio.wait({answer, held}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            answer.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise
        finally:
            held.cancel()
        if answer.done():
            return answer.result()
        session.loop.put(answer_owed)
        answer.add_done_callback(self._late_answer)
        raise WrongState("a native stop came before debugpy's answer")

    def _late_answer(self, answer: asyncio.Future[Any]) -> None:
        self.session.loop.put(answer_came)
        if not answer.cancelled():
            answer.exception()  # who asked has given up

    async def python_place(self, number: int) -> PythonPosition:
        trace = await self.ask(stack_trace(number, levels=1))
        return PythonPosition(
            PID, trace.frames, trace.total, PythonFrame(trace.frames[0].function, "/x.py", 3)
        )

    async def python_hold(self, tid: int) -> PythonHold:
        for hold in self.session.python_holds.values():
            if hold.tid == tid:
                return hold
        raise WrongState("the thread is in native code")


@dataclass
class FakeBreakpoints:
    """One of the user's breakpoints in each language."""

    world: World
    unheard: int | None = None
    bound: int = 0

    async def libraries_changed(self) -> None:
        await asyncio.sleep(self.world.delay())
        if self.world.held is None and self.world.alive and self.world.gdb_alive and not self.world.detached:
            self.world.broken.append("breakpoints were bound while the program ran")
        if self.world.chance.random() < 0.02:
            raise CommandError("gdb: Cannot access memory")
        self.bound += 1

    async def program_replaced(self) -> None:
        await self.libraries_changed()

    def all(self) -> list[Breakpoint]:
        spec = BreakpointSpec("x.py:3", BreakpointKind.PYTHON_LINE, "x.py", 3)
        return [Breakpoint(1, spec, BreakpointState.VERIFIED)]

    def report_unbound(self) -> None:
        return None

    def report_log_failures(self) -> None:
        return None


@dataclass
class FakeHits:
    """Which stops at breakpoints count."""

    world: World
    asked: dict[str, int] = field(default_factory=dict)

    async def at_breakpoint(self, event: NativeStopped) -> Met:
        await asyncio.sleep(self.world.delay())
        assert event.cause in (StopCause.BREAKPOINT, StopCause.WATCHPOINT)
        if event.gdb_breakpoint != USERS:
            return (), None
        self.asked[event.words] = self.asked.get(event.words, 0) + 1
        if self.asked[event.words] > 1:
            self.world.broken.append(f"{event.words} was counted twice")
        return (1,), event.words

    async def at_signal(self, event: NativeStopped) -> tuple[Met, bool]:
        return ((), event.words), False


@dataclass
class FakePythonHits:
    """Which stops of debugpy count."""

    world: World
    asked: dict[str, int] = field(default_factory=dict)

    async def at_stop(self, hold: PythonHold) -> Met | None:
        await asyncio.sleep(self.world.delay())
        mark = hold.event.description or ""
        if hold.event.cause is PythonCause.EXCEPTION and not mark:
            return None
        self.asked[mark] = self.asked.get(mark, 0) + 1
        if mark and self.asked[mark] > 1:
            self.world.broken.append(f"{mark} was counted twice")
        return ((1,) if mark else ()), mark or None


@dataclass
class FakeFreezer:
    world: World
    frozen: set[int] = field(default_factory=set)

    def check_runs(self, tid: int) -> None:
        return None

    async def park(self) -> None:
        await asyncio.sleep(self.world.delay())

    release = thaw_all = park


@dataclass
class FakeWatch:
    """The watch over a Python line; nothing announces."""

    world: World
    beacon: int | None = None
    entries: list[int] = field(default_factory=list)
    calls_operator: bool = False

    async def hear(self, wanted: bool) -> None:
        return None

    async def begin(self, hold: PythonHold) -> list[int]:
        await asyncio.sleep(self.world.delay())
        return [0x400]

    async def end(self) -> None:
        await asyncio.sleep(self.world.delay())

    async def may_return(self, hold: PythonHold) -> bool:
        return self.world.chance.random() < 0.3


@dataclass
class FakeProbe:
    world: World

    async def arm(self, gdb_thread: int, command: str) -> bool:
        await asyncio.sleep(self.world.delay())
        return self.world.debugpy_alive and self.world.chance.random() < 0.8

    async def hear(self, gdb_thread: int, number: int) -> bool:
        return True


class FakeHandlers:
    """No function catches anything."""

    async def pads(self, frames: Sequence[NativeFrame], rules: Any) -> tuple[()]:
        return ()

    def begin_catch(self, module: object) -> list[int]:
        return []


class FakeCode:
    """All code is of interest, and no function of it is known."""

    def has(self, pc: int) -> bool:
        return True

    def is_entry(self, pc: int) -> bool:
        return False

    def inlined_bodies(self, address: int) -> list[tuple[int, int, str]]:
        return []

    def behind(self, pc: int) -> tuple[int, ...]:
        return ()

    def entry(self, address: int) -> int:
        return address

    def module_at(self, address: int) -> None:
        return None

    def function_at(self, pc: int) -> None:
        return None
