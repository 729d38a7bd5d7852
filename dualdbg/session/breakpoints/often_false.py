"""Conditions that are false often: compiled into the process; else it is said what would make them faster."""

from __future__ import annotations

from ...backends.events import NativeOften
from ...errors import EngineTimeout, WrongState
from ...model import Notice, State
from ..loop import Loop
from .counting import Counting
from .points import Points

_COMPILES = (
    "a comparison of whole numbers, pointers or characters with variables of debug info or registers, "
    "at the entry of a function, is compiled"
)


class OftenFalse:
    """Takes gdb's reports of such conditions. ``mode`` is the one that was chosen."""

    def __init__(self, loop: Loop, points: Points, counting: Counting) -> None:
        self.mode = "on"
        self._loop = loop
        self._points = points
        self._counting = counting
        self._told: set[tuple[int, str]] = set()

    async def choose(self, mode: str) -> None:
        """Choose ``off`` (what was compiled is left to gdb again), ``ask`` (it says what to type) or ``on``."""
        self.mode = mode
        if mode == "off":
            await self._points.leave_to_gdb()

    async def report(self, event: NativeOften) -> None:
        """Compile the condition, or say why not; each once for each breakpoint."""
        ids = self._points.owners(event.gdb_breakpoint)
        if not ids or self.mode == "off" or self._counting.halting is None:
            return
        what = f"the condition of breakpoint {ids[0]} is often false"
        costs = f"gdb evaluates it {event.rate:,} times a second"
        if self.mode == "ask" and self._points.may_compile(event.gdb_breakpoint):
            self._tell(ids[0], f"{what}, and {costs}", "set fast on compiles it into the process, if it can")
            return
        try:
            why = await self._counting.halting.interrupted(lambda: self._points.compile(event.gdb_breakpoint))
        except (WrongState, EngineTimeout):
            if self._loop.state.phase is not State.NATIVE_STOPPED:
                return  # gdb reports it again
            why = await self._points.compile(event.gdb_breakpoint)
        if why is None:
            self._tell(ids[0], f"{what}: it is compiled, to run in the process where it can", "set fast off")
        else:
            self._tell(ids[0], f"{what}, and {costs}: {why}", _COMPILES)

    def _tell(self, id: int, text: str, hint: str) -> None:
        if (id, hint) not in self._told:
            self._told.add((id, hint))
            self._loop.tell(Notice("info", text, hint))
