"""What the session needs of gdb for breakpoints and probes; the other ports are in engines.py, with what all have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..backends.gdb_probes import ProbeCode
from ..backends.native import Access, Passing, StepEndNumbers, StepResult, ThrownObject, WantedResult


class NativeBreakpointEngine(Protocol):
    """Sets, changes and deletes breakpoints, and tells what was met at one."""

    async def insert_breakpoint(self, address: int, gdb_thread: int | None = ...) -> int:
        """Set a breakpoint at an address, for one thread or for all; returns its number."""

    async def insert_at_function(
        self, address: int, inlined: str | None = ..., gdb_thread: int | None = ...
    ) -> int:
        """Set a breakpoint that shows the function itself, not what was inlined at its beginning.

        ``inlined`` is its name where it was inlined itself. Returns the number; it may be below zero.
        """

    async def insert_breakpoints(self, gdb_thread: int, addresses: Sequence[int]) -> list[int]:
        """Set internal breakpoints for one thread; returns their numbers in the order of the addresses."""

    async def insert_log_point(
        self,
        address: int,
        texts: Sequence[str],
        expressions: Sequence[str],
        condition: str | None,
        tid: int,
        at_function: bool = ...,
        inlined: str | None = ...,
    ) -> int:
        """Set a breakpoint that prints ``texts`` with the values of ``expressions`` between, and never stops.

        It stops all the same when its condition has no value. ``tid`` is an OS thread id, 0 for every thread. Returns
        the number.
        """

    async def watch(self, address: int, size: int, access: Access) -> int:
        """Watch ``size`` bytes in hardware; returns the number of the watchpoint."""

    async def watch_expression(
        self, gdb_thread: int | None, level: int, expression: str, access: str
    ) -> int | None:
        """Watch the value of an expression in a frame, in hardware; returns the number of the watchpoint.

        Without a thread it has to begin with a global variable; None where there is none of that name yet. Raises
        CommandError where there is no value, or the processor cannot watch it.
        """

    async def delete_breakpoint(self, number: int) -> None:
        """Delete a breakpoint or watchpoint, also an internal one, whose number is below zero."""

    async def delete_breakpoints(self, numbers: Sequence[int]) -> None:
        """Delete breakpoints before any later request; one that is gone already is no error."""

    async def enable_breakpoint(self, number: int, enabled: bool) -> None:
        """Let a breakpoint stop again, or stop no more; it keeps its number."""

    async def set_condition(self, number: int, condition: str | None, gdb_thread: int | None = ...) -> None:
        """Stop only where an expression is true (None: always), and only in this thread if one is given."""

    async def insert_step_ends(
        self,
        gdb_thread: int,
        returns: Sequence[tuple[int, int]],
        pads: Sequence[tuple[int, int, bool]],
        catches: Sequence[tuple[int, int]],
        result: WantedResult | None = ...,
    ) -> StepEndNumbers:
        """Set internal breakpoints at which a step of one thread may end.

        ``returns``: an address to which a call returns, and the caller's stack pointer. ``pads``: a landing pad, the
        end of the frame that is to catch, and whether the unwinder may not say there that it does.
        ``catches``: an address of ``__cxa_begin_catch``, and the stack pointer of the frame that calls it. ``result``:
        the thread stands in a function whose result is to be read when it returns.
        """

    async def insert_step_lines(
        self, gdb_thread: int, pc: int, top: int, places: Sequence[tuple[int, str | None]]
    ) -> list[int]:
        """Set internal breakpoints for a thread that stands at ``pc`` in the frame that ends at ``top``.

        ``places``: addresses in that function, with its C name where it was inlined itself. Only those are taken to
        which control may come before all others. Returns gdb's numbers.
        """

    async def step_result(self) -> StepResult | None:
        """That result; None where the function has not returned, or returns nothing."""

    async def insert_cue(self, address: int, register: str, value: int) -> int:
        """Set an internal breakpoint that stops only where the lower half of a register is ``value``, as a signed
        number.

        Returns its number.
        """

    async def ignore_hits(self, number: int, count: int) -> None:
        """Pass over the next ``count`` hits, which are counted all the same."""

    async def hits(self, number: int) -> int:
        """How often a breakpoint was hit; hits that were passed over count."""

    async def last_breakpoint(self) -> int:
        """The number of the breakpoint that was set last, 0 before the first."""

    async def handle_signal(self, name: str, stops: bool) -> None:
        """Have the target stop when a signal arrives, and get it; or do again what was done before the first call."""

    async def teach_arguments(self, address: int, entry: int, what: Passing) -> list[str]:
        """Conditions and log texts at an address may be about the arguments of the function without debug info there,
        which begins at ``entry``. Returns those of which ``what`` does not tell where they are.
        """

    async def condition_holds(self, gdb_thread: int, condition: str) -> bool:
        """Whether a condition is true in the innermost frame. A CommandError when it has no value."""

    async def log_text(self, gdb_thread: int, texts: Sequence[str], expressions: Sequence[str]) -> str:
        """What a log point with these texts and expressions would print in the innermost frame."""

    async def caught_object(self, gdb_thread: int) -> ThrownObject:
        """At the entry of ``__cxa_begin_catch``: what is caught."""

    async def thrown_object(self, gdb_thread: int) -> ThrownObject:
        """What is thrown, at the entry of ``__cxa_throw``."""

    async def condition_text(self, address: int, condition: str) -> str:
        """The user's condition as gdb has to read it at an address, with the C names of Cython's variables."""

    async def panic_text(self, gdb_thread: int) -> str | None:
        """The message of a panic, at the entry of ``rust_panic``; None where memory does not say it."""


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

    async def traced_arguments(self, address: int, what: Passing | None) -> list[dict[str, Any]]:
        """The arguments of a function that are a whole number or a pointer in a register; see GdbProbes."""

    async def close_descriptor(self, close: int, descriptor: int, gdb_thread: int) -> None:
        """Close a descriptor of the target."""
