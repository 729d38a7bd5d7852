"""What the session needs of gdb for breakpoints and probes; the other ports are in engines.py, with what all have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..backends.gdb_probes import ProbeCode


class NativeBreakpointEngine(Protocol):
    """Sets, changes and deletes breakpoints, and tells what was met at one."""

    async def delete_breakpoint(self, number: int) -> None:
        """Delete a breakpoint or watchpoint, also an internal one, whose number is below zero."""

    async def enable_breakpoint(self, number: int, enabled: bool) -> None:
        """Let a breakpoint stop again, or stop no more; it keeps its number."""

    async def set_condition(self, number: int, condition: str | None, gdb_thread: int | None = ...) -> None:
        """Stop only where an expression is true (None: always), and only in this thread if one is given."""

    async def handle_signal(self, name: str, stops: bool) -> None:
        """Have the target stop when a signal arrives, and get it; or do again what was done before the first call."""


class ProbeEngine(Protocol):
    """Writes probes into the target, which do the work of breakpoints while it runs freely."""

    probes_left_out: Mapping[int, str]
    probes_ever_left_out: Mapping[int, str]

    def signal_of_probes(self) -> str:
        """The name of a signal that does nothing in the target."""

    async def condition_operations(self, address: int, condition: str, named: bool) -> str:
        """What gdb makes of a condition at an address, as it lists it; ``named``: it has names of debug info."""

    async def probe_room(self, near: int, size: int, reach: int, mmap: int, gdb_thread: int) -> int:
        """Map memory near an address: ``size`` bytes of code, and behind them as many of data."""

    def new_trace(self) -> int:
        """A number for a probe that traces, and for which the engine has no breakpoint. It is deleted as one."""

    async def insert_probe(self, number: int, probe: ProbeCode) -> None:
        """Write a probe that stands for a breakpoint of this number."""

    async def probe_hits(self, number: int) -> int:
        """How many hits a probe has counted in the target."""

    def switch_probe(self, number: int, on: bool) -> None:
        """Whether a probe that traces is in force from the next run on."""

    async def trace_memory(
        self, functions: Sequence[int], near: int, sizes: tuple[int, int], gdb_thread: int
    ) -> tuple[int, int]:
        """Map memory that the target shares with us, and more of its own behind it. Returns its address, and the
        target's descriptor of it."""

    async def close_descriptor(self, close: int, descriptor: int, gdb_thread: int) -> None:
        """Close a descriptor of the target."""
