"""The watch over one Python line: the probe in the target announces the native code that the line is about to call."""

from __future__ import annotations

import ast
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ...backends import python as debugpy
from ...backends.native import ARGUMENT_REGISTERS
from ...model import PythonFrame
from ...shared.libraries import is_c_library
from ...shared.requests.breakpoints import DeleteBreakpoints, InsertCue
from ...shared.requests.code import FindFunctionBodies
from ...shared.requests.threads import ReadArchitecture, ReadRegisters
from ...system.waiting import together
from ..engines import NativeEngine
from ..loop import Loop
from ..ports import AskingPython
from .code_of_interest import CodeOfInterest
from .stop_points import NOWHERE, StopPoints

if TYPE_CHECKING:
    from ..stops.facts import PythonHold

PROBE = "__import__('pydevd').dualdbg_probe"
# dualdbg_probe.py calls os.posix_fadvise(-1, address, 0, 0). Its C function is our cue: programs rarely call it.
BEACONS = ("posix_fadvise64", "posix_fadvise")


class LineWatch:
    """Asks the probe to watch the current Python line.

    ``beacon`` is the gdb breakpoint at the system call by which the probe announces a call.
    """

    def __init__(
        self,
        loop: Loop,
        native: NativeEngine,
        python: AskingPython,
        code: CodeOfInterest,
        learn_mailbox: Callable[[int], None],
    ) -> None:
        self._loop = loop
        self._native = native
        self._python = python
        self._code = code
        self._learn_mailbox = learn_mailbox
        self.beacon: int | None = None
        # The version of the mapped files, and an address in them.
        self._beacon_at: tuple[int, int | None] = (-1, None)
        self._watching = False
        self._hold: PythonHold | None = None

    async def begin(self, hold: PythonHold) -> StopPoints:
        """Watch the current line of a thread that debugpy holds. Returns what the line may reach, but for its calls."""

        async def ask(argument: str) -> str:
            answer = await self._ask(f"begin_step({argument!r})", hold)
            return str(ast.literal_eval(answer)) if answer else ""

        self._hold = hold
        return await self.begin_by(ask, hold.top)

    async def begin_by(self, ask: Callable[[str], Awaitable[str]], top: PythonFrame | None) -> StopPoints:
        """The same, where ``ask`` has the probe's function called that begins it."""
        ranges = self._code.ranges()
        self._watching = top is not None and bool(ranges)
        if top is None or not ranges:
            return NOWHERE
        _, answer = await together(self._set_beacon(), ask(json.dumps([top.line, ranges])))
        calls_operator, entries, mailbox = json.loads(answer) if answer else (False, [], 0)
        self._learn_mailbox(mailbox)
        return StopPoints(entries=tuple(entries), operators=calls_operator)

    async def named_entries(self, hold: PythonHold) -> list[int]:
        """Where the native code begins that a thread's current line calls by name, as far as its variables tell."""
        top, ranges = hold.top, self._code.ranges()
        if top is None or not ranges:
            return []
        answer = await self._ask(f"named_entries({top.line}, {ranges})", hold)
        return list(json.loads(ast.literal_eval(answer))) if answer else []

    async def foresee(self) -> None:
        """Have gdb read what the watch will need: the debug info of the C library, where there is some."""
        place = self._address_of_beacon()
        if place is not None:
            await self._native.ask(FindFunctionBodies([place]))

    async def end(self) -> None:
        """Stop watching."""
        if not self._watching:
            return
        self._watching = False
        await self._ask("end_step()", next(iter(self._loop.state.python_holds.values()), self._hold))
        await self._remove_beacon()

    def program_replaced(self) -> None:
        """The process runs another program: nobody is watched, and gdb has dropped its breakpoint."""
        self._watching, self.beacon = False, None

    async def hear(self, wanted: bool) -> None:
        """gdb leaves a native stop: the announcements of the line that is watched are wanted, or would be in the way.

        gdb gives up its own step at each stop. The probe in the target cannot be told meanwhile, and goes on.
        """
        if not wanted:
            await self._remove_beacon()
        elif self._watching:
            await self._set_beacon()

    async def may_return(self, hold: PythonHold) -> bool:
        """Whether the function may return from the current Python line."""
        return await self._ask("line_returns()", hold) == "True"

    async def announced(self, gdb_thread: int) -> int:
        """At the beacon: the address of the native code that the thread is about to call."""
        register = ARGUMENT_REGISTERS[await self._native.ask(ReadArchitecture())][1]
        return (await self._native.ask(ReadRegisters(gdb_thread, [register])))[register]

    async def _remove_beacon(self) -> None:
        if self.beacon is not None:
            number, self.beacon = self.beacon, None
            self._native.tell(DeleteBreakpoints([number]))

    async def _set_beacon(self) -> None:
        place = self._address_of_beacon() if self.beacon is None else None
        if place is not None:
            register = ARGUMENT_REGISTERS[await self._native.ask(ReadArchitecture())][0]
            self.beacon = await self._native.ask(InsertCue(place, register, -1))

    def _address_of_beacon(self) -> int | None:
        """The address of the cue. It is looked up once in the files that are mapped."""
        if self._beacon_at[0] != self._code.image.version:
            self._beacon_at = self._code.image.version, self._find_beacon()
        return self._beacon_at[1]

    def _find_beacon(self) -> int | None:
        libraries = [module for module in self._code.image.modules if is_c_library(module.path)]
        for name in BEACONS:
            places = self._code.image.find(name, libraries)
            if places:
                return places[0].address
        return None

    async def _ask(self, call: str, hold: PythonHold | None) -> str:
        if hold is None or not hold.frames:
            return ""
        # debugpy cuts long collections, and in every context but this one long strings too.
        question = debugpy.evaluate(f"{PROBE}.{call}", hold.frames[0].id, "clipboard")
        return (await self._python.ask(question)).text
