"""A breakpoint may vanish at any moment of being set: nothing fails, and gdb and debugpy have none that nobody wants.

The engines are fakes here, because each moment between two of their answers is tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dualdbg.errors import CommandError
from dualdbg.model import Breakpoint, BreakpointSpec
from dualdbg.session.breakpoints.native import NativeBreakpoints
from dualdbg.session.breakpoints.python import PythonBreakpoints
from dualdbg.session.breakpoints.python_watches import PythonWatches
from dualdbg.session.breakpoints.table import BreakpointTable
from dualdbg.session.breakpoints.throw_origins import ThrowOrigins
from dualdbg.shared.elf import SHF_COMPRESSED, Section
from dualdbg.shared.requests.base import Request
from dualdbg.shared.requests.breakpoints import (
    CountHits,
    InsertAtFunction,
    InsertBreakpoint,
    SetBreakpoint,
)
from dualdbg.shared.requests.code import CodeAddress, FindFunctionBody, FindLineLocations, FunctionAddress
from dualdbg.symbols.callables.python_functions import NoFunction
from dualdbg.symbols.gdb_feed.policy import Load
from dualdbg.symbols.locspec.breakpoint_spec import parse_spec
from dualdbg.symbols.names.symbol import Symbol


class DebugInfo:
    """Any source may have lines in it, and no function is in it."""

    has_debug_info = False

    def section(self, name: str) -> Section | None:
        return Section(0, name, 0, SHF_COMPRESSED, 0, 0, 0, 0, 0, 0, 0) if name == ".debug_line" else None


class Library:
    path = "/home/me/some.so"
    with_debug_info = DebugInfo()


class Module:
    path = Library.path
    start, end, bias = 0x1000, 0x9000, 0
    library = Library()

    def is_named(self, name: str) -> bool:
        return False


class Place:
    module = Module()

    def __init__(self, address: int) -> None:
        self.address = address
        self.symbol = Symbol(f"f{address:x}", "f", address, 16, "function", "global", Module.path)


class Image:
    """Three functions of each name."""

    pid = 1
    modules = (Place.module,)

    def find(self, name: str, modules: Any) -> list[Place]:
        return [Place(address) for address in (0x1000, 0x2000, 0x3000)]

    def describe(self, address: int) -> tuple[str, str]:
        return f"f{address:x}", Module.path

    def module_at(self, address: int) -> Module:
        return Place.module

    def language_at(self, address: int) -> str:
        return "cython"  # whose conditions gdb is asked about, which is a moment too

    def take_troubles(self) -> list[Module]:
        return []


class Gdb:
    """Has breakpoints, and lets something happen at moment number ``at``: at the beginning of its answer to a call."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.calls = 0
        self.breakpoints: set[int] = set()
        self.taken: set[str] = set()
        self.happens: Callable[[], None] = lambda: None
        self._last = 0
        self._answers: dict[type[Request[Any]], Callable[..., Any]] = {
            CountHits: lambda number: 0,
            SetBreakpoint: lambda number, attribute, value: None,
            FindFunctionBody: lambda address: FunctionAddress(address, "some.c", 3, address == 0x2000),
            FindLineLocations: lambda file, line: [CodeAddress(at, file, line) for at in (0x1000, 0x2000)],
        }

    async def ask(self, request: Request[Any]) -> Any:
        await self.moment()
        if isinstance(request, (InsertBreakpoint, InsertAtFunction)):
            self._last += 1
            self.breakpoints.add(self._last)
            await self.moment()
            return self._last
        return self._answers[type(request)](*request)

    async def moment(self) -> None:
        if self.calls == self.at:
            self.happens()
        self.calls += 1
        for _ in range(3):
            await asyncio.sleep(0)

    async def delete_breakpoint(self, number: int) -> None:
        await self.moment()
        assert number in self.breakpoints, f"breakpoint {number} is deleted twice"
        self.breakpoints.remove(number)

    async def enable_breakpoint(self, number: int, enabled: bool) -> None:
        await self.moment()
        if number not in self.breakpoints:
            raise CommandError(f"gdb: No breakpoint number {number}.")

    async def set_condition(self, number: int, condition: str | None, gdb_thread: int | None = None) -> None:
        await self.moment()

    @property
    def signals(self) -> Gdb:
        return self

    async def handle(self, name: str, stops: bool) -> None:
        await self.moment()
        (self.taken.add if stops else self.taken.discard)(name)


class Loop:
    """What the table tells."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.tell = self.told.append
        self.state = type("State", (), {"stop": None})

    def background(self, work: Any) -> None:
        self.tasks.append(asyncio.ensure_future(work))


class Debugpy:
    connected = False


class Policy:
    def decide(self, module: Module) -> Any:
        return type("Decision", (), {"load": Load.WHOLE})

    def may_have_lines(self, module: Module, file: str) -> bool:
        return self.decide(module).load is Load.WHOLE


class Reader:
    async def prepare(self, module: Module) -> None:
        await asyncio.sleep(0)


class Specs:
    optional: frozenset[str] = frozenset()

    def read(self, text: str) -> list[BreakpointSpec]:
        return [parse_spec(text)]


def table_of(gdb: Any, loop: Loop) -> BreakpointTable:
    image: Any = Image()
    unused: Any = None
    native = NativeBreakpoints(gdb, image, Reader(), Policy(), lambda spec: ())  # type: ignore[arg-type]

    def find(name: str) -> Any:
        asyncio.run_coroutine_threadsafe(gdb.moment(), loop.main).result(60)  # type: ignore[attr-defined]
        return NoFunction(None, "there is none")

    mute = asyncio.Event()
    python = PythonBreakpoints(Debugpy(), (Path("/"),), mute, find)  # type: ignore[arg-type]
    specs: Any = Specs()
    origins = ThrowOrigins(loop, gdb, unused, native)  # type: ignore[arg-type]
    watches = PythonWatches(Debugpy(), unused, mute)  # type: ignore[arg-type]
    return BreakpointTable(loop, specs, native, python, origins, watches)  # type: ignore[arg-type]


SPECS = [
    "function",
    "function if a > 1",
    "function hits 3",
    "*0x1000",
    "some.c:3",
    "signal:SIGUSR1",
    "py:module.work",
]


WHAT: dict[str, Callable[[BreakpointTable, int], Any]] = {
    "removed": lambda table, id: table.remove(id),
    "disabled": lambda table, id: table.enable(id, False),
    "changed": lambda table, id: table.change(id, condition="a > 2", hits=5),
}


async def play(spec: str, at: int, what: str, other: bool) -> int:
    """Add a breakpoint, during which something happens; returns how many moments there were."""
    gdb, loop = Gdb(at), Loop()
    loop.main = asyncio.get_running_loop()  # type: ignore[attr-defined]
    table = table_of(gdb, loop)
    if other:  # of the same places
        gdb.at, happens_at = -1, gdb.at
        await table.add(spec)
        gdb.at = gdb.calls + happens_at
    id = 2 if other else 1
    begun = gdb.calls

    def happens() -> None:
        work = WHAT[what](table, id)
        if id in [row.id for row in table.all()]:
            loop.background(work)
        else:
            work.close()

    gdb.happens = happens
    (row,) = await table.add(spec)
    assert isinstance(row, Breakpoint) and row.id == id
    moments = gdb.calls - begun
    await asyncio.gather(*loop.tasks)
    for one in table.all():
        await table.remove(one.id)
    assert gdb.breakpoints == set(), "gdb has breakpoints that nobody wants"
    assert gdb.taken == set()
    return moments


@pytest.mark.parametrize("other", [False, True], ids=["alone", "beside another"])
@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("spec", SPECS)
def test_at_each_moment_of_being_set(spec: str, what: str, other: bool) -> None:
    moments = asyncio.run(play(spec, -1, what, other))
    assert moments or other  # a second one at an address needs nothing of gdb
    for at in range(moments):
        asyncio.run(play(spec, at, what, other))
