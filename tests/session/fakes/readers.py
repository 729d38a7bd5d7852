"""What the session reads besides its engines: the mapped files, stacks, code, the means of a step."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from dualdbg.backends.events import NativeStopped, StopCause
from dualdbg.backends.python import evaluate
from dualdbg.errors import CommandError
from dualdbg.model import Frame, Layer, NativeFrame, PythonFrame, Quality, Stack
from dualdbg.session.ports import AskingPython
from dualdbg.session.stepping.stop_points import Pad, StopPoints
from dualdbg.session.stops.facts import Met, PythonHold
from dualdbg.session.stops.native_hits import NativeHits
from dualdbg.session.stops.python_hits import PythonHits
from dualdbg.snapshot.cpython.held_process import PythonThread
from dualdbg.stacks.roles import RoleRules

from .world import FILE, LINE, PID, NoAnswer, World

# Set in a task that reads for a front end, which may let the program go on meanwhile: gdb refuses to read then.
FOR_A_FRONT_END = ContextVar("FOR_A_FRONT_END", default=False)
# debugpy may call its functions too: each arrival is looked at.
_LIBRARY = SimpleNamespace(path="/usr/lib/libm.so.6", library=None)
_LOOP = NativeFrame(5, 0x900, "_PyEval_EvalFrameDefault", sp=128)


class FakeImage:
    """Every address is in one file, and the C library's function ``syscall`` is known."""

    pid = PID
    version = 1
    modules: tuple[()] = ()

    def forget(self) -> None:
        return None

    def refresh(self) -> list[Any]:
        return []

    def take_troubles(self) -> list[Any]:
        return []

    def find(self, name: str, modules: object = None) -> list[Any]:
        return [SimpleNamespace(address=0x700)] if name == "syscall" else []

    def describe(self, address: int) -> tuple[str, str]:
        return "f", _LIBRARY.path

    def module_at(self, address: int) -> Any:
        return _LIBRARY

    def language_at(self, address: int) -> None:
        return None


@dataclass
class FakeReader:
    """Stacks of a native function on Python code, or of Python code alone; below both, a native caller perhaps."""

    world: World
    rules: RoleRules = field(default_factory=RoleRules)
    _stacks: dict[int, Stack] = field(default_factory=dict)

    def forget(self) -> None:
        self._stacks.clear()

    async def libraries_left(self) -> None:
        return None

    @property
    def has_more_to_read(self) -> bool:
        return self.world.chance.random() < 0.2

    async def read_whole(self) -> None:
        await asyncio.sleep(self.world.delay())

    async def prepare_below(self) -> None:
        await asyncio.sleep(self.world.delay())

    async def native_frames(self, tid: int, gdb_thread: int) -> list[NativeFrame]:
        await self._look()
        return [NativeFrame(0, 0x100, "f", sp=16), _LOOP]

    async def stack(self, tid: int, gdb_thread: int) -> Stack:
        await self._look()
        if tid not in self._stacks:
            self._stacks[tid] = Stack(tid, self._frames(), Quality.FULL, f"stop {self.world.stops}")
        return self._stacks[tid]

    def _frames(self) -> tuple[Frame, ...]:
        chance = self.world.chance
        native = NativeFrame(0, 0x100, "f", file="/x.c" if chance.random() < 0.5 else None, line=3, sp=16)
        above = (native, NativeFrame(1, 0x180, "g", file="/x.c", line=9, sp=64))
        below = (NativeFrame(7, 0x280, "h", file="/x.c", line=12, sp=256), PythonFrame("q", FILE, LINE + 1))
        shown = (PythonFrame("p", FILE, LINE), *(below if chance.random() < 0.5 else ()))
        return shown if chance.random() < 0.5 else (*above, *shown)

    def python_thread(self, tid: int) -> PythonThread:
        """The Python frames of a thread, from memory, which may be read at any time."""
        held = next(
            (one for number, one in self.world.python.items() if self.world.threads.get(number) == tid), None
        )
        inner = [
            PythonFrame("inner", FILE, LINE + 40, entry) for entry in (held.inner if held is not None else ())
        ]
        called = self.world.chance.random() < 0.5
        frames = (*inner, PythonFrame("p", FILE, LINE, called), PythonFrame("q", FILE, LINE + 1))
        return PythonThread(tid, frames, holds_gil=self.world.chance.random() < 0.5)

    def python_threads(self) -> list[PythonThread]:
        return [self.python_thread(tid) for tid in self.world.threads.values()]

    async def _look(self) -> None:
        world = self.world
        await asyncio.sleep(world.delay())
        if world.runs and FOR_A_FRONT_END.get():
            raise CommandError("gdb: Selected thread is running.")
        if not world.gdb_alive:
            raise CommandError("gdb is gone")
        if world.killed or world.chance.random() < 0.02:
            raise CommandError("gdb: Couldn't get registers: No such process")
        if world.runs:
            world.broken.append("a thread was looked at while it ran")


@dataclass
class MarkedHits:
    """The session's own, and the account of it. A stop that counts is told with its mark."""

    world: World
    real: NativeHits
    asked: dict[str, int] = field(default_factory=dict)

    @property
    def of_gdb(self) -> set[int]:
        return self.real.of_gdb

    async def at_breakpoint(self, event: NativeStopped) -> Met:
        assert event.cause in (StopCause.BREAKPOINT, StopCause.WATCHPOINT)
        owners, description = await self.real.at_breakpoint(event)
        if not owners or not event.words:
            return owners, description
        _count(self.asked, event.words, self.world)
        return owners, event.words

    async def at_signal(self, event: NativeStopped) -> tuple[Met, bool]:
        (owners, _), asked = await self.real.at_signal(event)
        return (owners, event.words), asked


@dataclass
class MarkedPythonHits:
    """The same for stops of debugpy."""

    world: World
    real: PythonHits
    asked: dict[str, int] = field(default_factory=dict)

    async def at_stop(self, hold: PythonHold) -> Met | None:
        met = await self.real.at_stop(hold)
        await asyncio.sleep(self.world.delay())
        if self.world.chance.random() < self.world.unanswered:
            self.world.is_left_unread(hold.event.debugpy_thread)
            raise NoAnswer("debugpy did not answer in time")
        mark = hold.event.description
        if not mark or met is None or not met[0]:
            return met
        _count(self.asked, mark, self.world)
        return met[0], mark


def _count(asked: dict[str, int], mark: str, world: World) -> None:
    asked[mark] = asked.get(mark, 0) + 1
    if asked[mark] > 1:
        world.broken.append(f"{mark} was counted twice")


@dataclass
class FakeWatch:
    """The watch over a Python line; nothing announces."""

    world: World
    python: AskingPython
    beacon: int | None = None

    async def hear(self, wanted: bool) -> None:
        return None

    def program_replaced(self) -> None:
        self.beacon = None

    async def begin(self, hold: PythonHold) -> StopPoints:
        await asyncio.sleep(self.world.delay())
        return StopPoints(entries=(0x400,))

    async def begin_by(self, ask: Callable[[str], Awaitable[str]], top: PythonFrame | None) -> StopPoints:
        await ask("")
        return StopPoints(entries=(0x400,))

    async def end(self) -> None:
        await asyncio.sleep(self.world.delay())

    async def may_return(self, hold: PythonHold) -> bool:
        return self.world.chance.random() < 0.3

    async def foresee(self) -> None:
        await asyncio.sleep(self.world.delay())

    async def named_entries(self, hold: PythonHold) -> list[int]:
        """The probe is asked, while the user looks at the line."""
        if hold.frames:
            await self.python.ask(evaluate("named", hold.frames[0].id, "clipboard"))
        return [0x400]


@dataclass
class FakeProbe:
    """Arms debugpy, which may be gone, or not be able to."""

    world: World

    def program_replaced(self) -> None:
        return None

    def learn_mailbox(self, address: int) -> None:
        return None

    def foresee(self) -> None:
        return None

    async def begin_step(self, gdb_thread: int, argument: str) -> str:
        await asyncio.sleep(self.world.delay())
        return ""

    async def arm(self, gdb_thread: int, command: str) -> int:
        await asyncio.sleep(self.world.delay())
        if not self.world.debugpy_alive or self.world.chance.random() < 0.2:
            return 0
        self.world.python_step = command
        return self.world.chance.choice((1, 2, 3))

    async def hear(self, gdb_thread: int, number: int) -> bool:
        await asyncio.sleep(self.world.delay())
        return True


@dataclass
class FakeHandlers:
    """A function of the stack may catch an exception."""

    chance: random.Random

    async def pads(self, frames: Sequence[NativeFrame], rules: Any) -> tuple[Pad, ...]:
        is_cxx = self.chance.random() < 0.5
        return (Pad(0x600, 64, 1, 1, is_cxx),) if self.chance.random() < 0.3 else ()

    def begin_catch(self, module: object) -> list[int]:
        return [0x680]


@dataclass
class FakeCode:
    """All code is of interest, and no function of it is known."""

    image: FakeImage
    step_into: Layer = Layer.BINDING

    def modules(self) -> list[Any]:
        return [_LIBRARY]

    def has(self, pc: int) -> bool:
        return True

    def is_entry(self, pc: int) -> bool:
        return False

    def part_at(self, pc: int) -> None:
        return None

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

    def result_at(self, pc: int) -> tuple[None, bool]:
        return None, True
