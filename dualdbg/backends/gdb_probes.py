"""Probes in the target: the client of gdb_scripts/dualdbg_engine/probes.py, and what the signal of a hit means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import CommandError
from ..known.crash_signals import OF_MEMORY_NAMES
from . import gdb_answers as shapes
from .events import NativeStopped, StopCause
from .gdb_helpers import GdbHelpers
from .gdb_process import GdbProcess

_HIT = "breakpoint-hit"  # gdb's word for it
_TRACES = 1 << 30  # above it are numbers of probes that trace, and for which gdb has no breakpoint
_AT_ONCE = 200  # probes in one request


@dataclass(frozen=True)
class ProbeCode:
    """A probe that is ready to be written; the fields are those of :class:`~dualdbg.probes.thunk.Probe`.

    ``address``: that of the breakpoint; ``counter``: where it counts; ``limit``: the hit from which on it stops, 0
    where it does not count. ``signal`` is the name of the signal by which it says that it was hit; empty where it
    ``traces``, and never says so. ``ring``: where its records are, as ``Ring`` in probe_state.py has it; ``calls``:
    where those are that have not returned, and how many bytes. ``is_exit``: it goes with the one at the entry.
    """

    address: int
    site: int
    original: bytes
    jump: bytes
    thunk: int
    code: bytes
    saved: Sequence[str]
    states: Sequence[tuple[int, int, Sequence[str]]]
    sent: int
    moved: Sequence[tuple[int, int]]
    counter: int
    limit: int
    signal: str
    traces: bool = False
    ring: Sequence[int] = ()
    calls: Sequence[int] = (0, 0)
    is_exit: bool = False


class GdbProbes(GdbHelpers):
    """Writes probes, puts them in force whenever the target runs freely, and knows their hits."""

    def __init__(self, process: GdbProcess) -> None:
        super().__init__(process)
        self._probe_signal: str | None = None
        # By the number of gdb's breakpoint, or of a trace; less than 0 for those at exits, as in probe_state.py.
        self._probes: dict[int, ProbeCode] = {}
        # Of those that trace, with the number that each goes with: they are written together.
        self._unwritten: dict[int, tuple[int, ProbeCode]] = {}
        self._off: set[int] = set()  # of those that trace
        self._traces = _TRACES
        self.probes_left_out: Mapping[int, str] = {}
        """Why probes were not in force when the target was last let run, by the same keys."""
        self.probes_ever_left_out: Mapping[int, str] = {}
        """The same for all times at which it was let run."""

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

    def new_trace(self) -> int:
        """A number for a probe that traces, and for which gdb has no breakpoint."""
        self._traces += 1
        return self._traces

    async def insert_probe(self, number: int, probe: ProbeCode) -> None:
        """From the next run on a probe does the work of gdb's breakpoint ``number`` while the target runs freely.

        One that traces is written then.
        """
        key = -probe.thunk if probe.is_exit else number
        if probe.traces:
            self._unwritten[key] = number, probe
        else:
            await self._helper(shapes.nothing, "insert-probe", number, probe.address, _parts(probe))
        self._probes[key] = probe
        self._probe_signal = probe.signal or self._probe_signal

    def remove_trace(self, number: int) -> bool:
        """A probe that traces is not in force any more from the next run on. Returns whether gdb has no breakpoint for
        it; else the probe goes with that.
        """
        waiting = [key for key, (owner, _) in self._unwritten.items() if owner == number]
        for key in waiting:
            del self._unwritten[key]
        if number > _TRACES and not waiting:
            self._tell("remove-trace", number)
        return number > _TRACES

    async def insert_probes(self) -> dict[int, str]:
        """Write the traces that wait for it. Returns why some could not be written, by their keys."""
        failed: dict[int, str] = {}
        waiting, self._unwritten = list(self._unwritten.values()), {}
        for at in range(0, len(waiting), _AT_ONCE):
            rows = [[number, one.address, _parts(one)] for number, one in waiting[at : at + _AT_ONCE]]
            found = await self._helper(dict, "insert-probes", rows)
            failed.update((int(key), str(why)) for key, why in found.items())
        return failed

    def switch_probe(self, number: int, on: bool) -> None:
        """Whether a probe that traces is in force from the next run on."""
        (self._off.discard if on else self._off.add)(number)

    async def trace_memory(
        self, functions: Sequence[int], near: int, sizes: tuple[int, int], gdb_thread: int
    ) -> tuple[int, int]:
        """Map memory in the target that we can open. Returns its address, and the target's descriptor of it.

        ``functions`` are the addresses of the C library's memfd_create, mmap and close, which the thread calls; at
        ``near`` there is room for a name. ``sizes``: bytes that are shared, and those of the target's own behind them.
        Raises CommandError where one of them fails.
        """
        address, descriptor = await self._helper(
            list, "trace-memory", list(functions), near, list(sizes), gdb_thread
        )
        return int(address), int(descriptor)

    async def close_descriptor(self, close: int, descriptor: int, gdb_thread: int) -> None:
        """Close a descriptor of the target, by its C library's close."""
        await self._helper(shapes.nothing, "close-descriptor", close, descriptor, gdb_thread)

    async def probe_hits(self, number: int) -> int:
        """How many hits a probe has counted in the target."""
        return await self._helper(int, "probe-hits", number)

    async def arm_probes(self) -> None:
        """Put the probes in force: the target is about to run freely."""
        if not self._probes:
            return
        try:
            failed = await self.insert_probes()
            found = {**failed, **await self._helper(dict, "arm-probes", sorted(self._off))}
        except CommandError as error:  # gdb's own breakpoints are in force, and the target can run
            found = dict.fromkeys(self._probes, error.message)
        self.probes_left_out = {int(number): str(why) for number, why in found.items()}
        self.probes_ever_left_out = {**self.probes_ever_left_out, **self.probes_left_out}

    def _forget_probes(self) -> None:
        self._probe_signal, self._probes, self.probes_left_out = None, {}, {}
        self._unwritten, self._off = {}, set()

    async def pass_hits(self, gdb_thread: int) -> None:
        """A step of this thread begins: no hit that was told is met again. gdb tells of a stop meanwhile."""
        if self._probe_signal is not None and await self._helper(bool, "pass-hits", gdb_thread):
            self.stop_again(gdb_thread)
            await self._helper(bool, "pass-hits", gdb_thread)  # gdb looks at it when the stop is over

    def stop_again(self, gdb_thread: int) -> None:
        """Let gdb see a thread stop where it stands. gdb's answer comes before that is done."""
        self._tell("stop-again", gdb_thread)

    def _as_of_function(self, event: NativeStopped) -> NativeStopped:
        """A stop in code of ours, told as one in the function: the thread is there by now, and the code as it was.

        A thread that has sent the signal of a hit has hit the breakpoint. So has one that has faulted where a condition
        reads memory: whoever takes the stop asks gdb for the condition. In a trace that stop is nobody's.
        """
        if event.cause is not StopCause.SIGNAL or event.pc is None:
            return event
        for number, probe in self._probes.items():
            faulted = event.signal in OF_MEMORY_NAMES and _reads_at(probe, event.pc)
            if not probe.traces and (
                faulted or (event.signal == self._probe_signal and event.pc in (probe.sent, probe.address))
            ):
                return NativeStopped(
                    StopCause.BREAKPOINT, event.thread, event.gdb_thread, probe.address, number, words=_HIT
                )
            if faulted:
                return replace(event, cause=StopCause.INTERRUPTED, pc=probe.address)
            if probe.thunk <= event.pc < probe.thunk + len(probe.code):
                return replace(event, pc=dict(probe.moved).get(event.pc, probe.address))
        return event

    def _is_of_probes(self, event: NativeStopped) -> bool:
        """Whether a stop is by the signal of probes, which somebody else has sent."""
        return (
            event.cause is StopCause.SIGNAL
            and event.signal is not None
            and event.signal == self._probe_signal
        )


def _reads_at(probe: ProbeCode, pc: int) -> bool:
    """Whether a condition reads memory at an instruction of its code."""
    return any(place == pc and "reading" in marks for place, _, marks in probe.states)


def _parts(probe: ProbeCode) -> dict[str, Any]:
    """What gdb's side is told of it."""
    return {
        "site": probe.site,
        "original": probe.original.hex(),
        "jump": probe.jump.hex(),
        "thunk": probe.thunk,
        "code": probe.code.hex(),
        "saved": list(probe.saved),
        "states": [[place, pushed, list(marks)] for place, pushed, marks in probe.states],
        "sent": probe.sent,
        "moved": [list(pair) for pair in probe.moved],
        "counter": probe.counter,
        "limit": probe.limit,
        "signal": probe.signal,
        "traces": probe.traces,
        "ring": list(probe.ring),
        "calls": list(probe.calls),
        "call": probe.is_exit,
    }
