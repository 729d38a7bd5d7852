"""Probes in the target: the client of gdb_scripts/dualdbg_engine/probes.py, and what the signal of a hit means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import CommandError
from . import gdb_answers as shapes
from .events import NativeStopped, StopCause
from .gdb_helpers import GdbHelpers

_FAULTS = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE"}


@dataclass(frozen=True)
class ProbeCode:
    """A probe that is ready to be written; the fields are those of :class:`~dualdbg.probes.thunk.Probe`.

    ``address``: that of the breakpoint; ``counter``: where it counts; ``limit``: the hit from which on it stops, 0
    where it does not count. ``signal`` is the name of the signal by which it says that it was hit.
    """

    address: int
    site: int
    original: bytes
    jump: bytes
    thunk: int
    code: bytes
    saved: Sequence[str]
    states: Sequence[tuple[int, int, bool, bool]]
    sent: int
    moved: Sequence[tuple[int, int]]
    counter: int
    limit: int
    signal: str


class GdbProbes(GdbHelpers):
    """Writes probes, puts them in force whenever the target runs freely, and knows their hits."""

    _probe_signal: str | None = None
    _probes: Mapping[int, ProbeCode] = {}  # by the number of gdb's breakpoint
    _in_force = False
    probes_left_out: Mapping[int, str] = {}
    """Why probes were not in force when the target was last let run, by the number of their breakpoints."""

    async def condition_operations(self, address: int, condition: str, named: bool) -> str:
        """What gdb makes of a condition at an address: the text of ``maintenance agent-eval``.

        ``named``: it is about variables that debug info has there. Raises CommandError where gdb makes nothing of it.
        """
        return await self._helper(str, "condition-operations", address, condition, named)

    async def probe_room(self, near: int, size: int, reach: int, mmap: int, gdb_thread: int) -> int:
        """Map memory for probes near an address: ``size`` bytes of code, and behind them as many of data.

        ``mmap`` is the address of the C library's function, which the thread calls. Raises CommandError where there is
        no room.
        """
        return await self._helper(int, "probe-room", near, size, reach, mmap, gdb_thread)

    async def insert_probe(self, number: int, probe: ProbeCode) -> None:
        """From the next run on a probe does the work of gdb's breakpoint ``number`` while the target runs freely."""
        parts = {
            "site": probe.site,
            "original": probe.original.hex(),
            "jump": probe.jump.hex(),
            "thunk": probe.thunk,
            "code": probe.code.hex(),
            "saved": list(probe.saved),
            "states": [list(row) for row in probe.states],
            "sent": probe.sent,
            "moved": [list(pair) for pair in probe.moved],
            "counter": probe.counter,
            "limit": probe.limit,
            "signal": probe.signal,
        }
        await self._helper(shapes.nothing, "insert-probe", number, probe.address, parts)
        self._probes = {**self._probes, number: probe}
        self._probe_signal = probe.signal

    async def probe_hits(self, number: int) -> int:
        """How many hits a probe has counted in the target."""
        return await self._helper(int, "probe-hits", number)

    async def arm_probes(self) -> None:
        """Put the probes in force: the target is about to run freely."""
        if self._probe_signal is None:
            return
        try:
            found = await self._helper(dict, "arm-probes")
            self._in_force = True
        except CommandError as error:  # gdb's own breakpoints are in force, and the target can run
            found = dict.fromkeys(self._probes, error.message)
        self.probes_left_out = {int(number): str(why) for number, why in found.items()}

    def _forget_probes(self) -> None:
        self._probe_signal, self._probes, self.probes_left_out, self._in_force = None, {}, {}, False

    def _is_hint(self, event: NativeStopped) -> bool:
        """Whether the target stopped in a probe: by its signal, or by a fault there.

        The thread is back at the function by now, whose code is as it was, and gdb's own breakpoint is there. When the
        target goes on, gdb comes upon that, or the fault is repeated in the function.
        """
        was_in_force, self._in_force = self._in_force, False
        if event.cause is not StopCause.SIGNAL or event.pc is None:
            return False
        if event.signal != self._probe_signal and (event.signal not in _FAULTS or not was_in_force):
            return False
        return any(_is_at(probe, event.pc) for probe in self._probes.values())

    def _is_of_probes(self, event: NativeStopped) -> bool:
        """Whether a stop is by the signal of probes, which somebody else has sent."""
        return (
            event.cause is StopCause.SIGNAL
            and event.signal is not None
            and event.signal == self._probe_signal
        )


def _is_at(probe: ProbeCode, pc: int) -> bool:
    """Whether an address is in a probe, or in the instructions whose place it takes."""
    own = probe.thunk <= pc < probe.thunk + len(probe.code)
    return own or probe.address == pc or probe.site <= pc < probe.site + len(probe.original)
