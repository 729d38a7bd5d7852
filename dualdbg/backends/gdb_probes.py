"""Probes in the target: the client of gdb_scripts/dualdbg_engine/probes.py, and what the signal of a hit means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import CommandError
from . import gdb_answers as shapes
from .events import NativeStopped, StopCause
from .gdb_helpers import GdbHelpers


@dataclass(frozen=True)
class ProbeCode:
    """A probe that is ready to be written; the fields are those of :class:`~dualdbg.probes.thunk.Probe`.

    ``counter``: where it counts; ``limit``: the hit from which on it stops, 0 where it does not count. ``signal`` is the
    name of the signal by which it says that it was hit.
    """

    site: int
    original: bytes
    jump: bytes
    thunk: int
    code: bytes
    saved: Sequence[str]
    states: Sequence[tuple[int, int, bool]]
    sent: int
    moved: Sequence[tuple[int, int]]
    counter: int
    limit: int
    signal: str


class GdbProbes(GdbHelpers):
    """Writes probes, puts them in force whenever the target runs freely, and knows their hits."""

    _probe_signal: str | None = None
    _probe_sites: Mapping[
        int, tuple[int, int]
    ] = {}  # where a thread says that it was hit -> gdb's number, address
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

    async def insert_probe(self, number: int, address: int, probe: ProbeCode) -> None:
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
        await self._helper(shapes.nothing, "insert-probe", number, address, parts)
        hit = number, address
        places = (probe.sent, probe.moved[0][0], address, probe.site)
        self._probe_sites = {**self._probe_sites, **dict.fromkeys(places, hit)}
        self._probe_signal = probe.signal

    async def probe_hits(self, number: int) -> int:
        """How many hits a probe has counted in the target."""
        return await self._helper(int, "probe-hits", number)

    async def _arm_probes(self) -> None:
        """Put the probes in force: the target is about to run freely."""
        if self._probe_signal is not None:
            try:
                found = await self._helper(dict, "arm-probes")
            except CommandError as error:  # gdb's own breakpoints are in force, and the target can run
                numbers = {number for number, _ in self._probe_sites.values()}
                found = dict.fromkeys(numbers, error.message)
            self.probes_left_out = {int(number): str(why) for number, why in found.items()}

    def _forget_probes(self) -> None:
        self._probe_signal, self._probe_sites, self.probes_left_out = None, {}, {}

    def _meaning_of(self, event: NativeStopped) -> NativeStopped:
        """A stop by the signal of probes is the hit of a breakpoint. Where another has sent it, it serves nothing."""
        if event.cause is not StopCause.SIGNAL or event.signal is None or event.signal != self._probe_signal:
            return event
        hit = self._probe_sites.get(event.pc or 0)
        if hit is None:
            return replace(event, cause=StopCause.INTERRUPTED)
        number, address = hit
        return replace(
            event,
            cause=StopCause.BREAKPOINT,
            gdb_breakpoint=number,
            pc=address,
            signal=None,
            signal_meaning=None,
            words="breakpoint-hit",
        )
