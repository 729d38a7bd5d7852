"""Probes in the target: which there are, when they are in force, and what the signal of a hit means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..errors import CommandError
from ..known.crash_signals import OF_MEMORY_NAMES
from ..shared.requests.probes import (
    ArmProbes,
    InsertProbe,
    InsertProbes,
    PassHits,
    ProbeCode,
    RemoveTrace,
    StopAgain,
)
from .events import NativeStopped, StopCause
from .native import AskingGdb

_HIT = "breakpoint-hit"  # gdb's word for it
_TRACES = 1 << 30  # above it are numbers of probes that trace, and for which gdb has no breakpoint
_AT_ONCE = 200  # probes in one request


class GdbProbes:
    """Writes probes, puts them in force whenever the target runs freely, and knows their hits."""

    def __init__(self, gdb: AskingGdb) -> None:
        self._gdb = gdb
        self.signal: str | None = None  # by which probes say that they were hit
        # By the number of gdb's breakpoint, or of a trace; less than 0 for those at exits, as in probe_state.py.
        self._probes: dict[int, ProbeCode] = {}
        # Of those that trace, with the number that each goes with: they are written together.
        self._unwritten: dict[int, tuple[int, ProbeCode]] = {}
        self._off: set[int] = set()  # of those that trace
        self._traces = _TRACES
        self.left_out: Mapping[int, str] = {}
        """Why probes were not in force when the target was last let run, by the same keys."""
        self.ever_left_out: Mapping[int, str] = {}
        """The same for all times at which it was let run."""

    def new_trace(self) -> int:
        """A number for a probe that traces, and for which gdb has no breakpoint."""
        self._traces += 1
        return self._traces

    async def insert(self, number: int, probe: ProbeCode) -> None:
        """From the next run on a probe does the work of gdb's breakpoint ``number`` while the target runs freely.

        One that traces is written then.
        """
        key = -probe.thunk if probe.is_exit else number
        if probe.traces:
            self._unwritten[key] = number, probe
        else:
            await self._gdb.ask(InsertProbe(number, probe))
        self._probes[key] = probe
        self.signal = probe.signal or self.signal

    def remove_trace(self, number: int) -> bool:
        """A probe that traces is not in force any more from the next run on. Returns whether gdb has no breakpoint for
        it; else the probe goes with that.
        """
        waiting = [key for key, (owner, _) in self._unwritten.items() if owner == number]
        for key in waiting:
            del self._unwritten[key]
        if number > _TRACES and not waiting:
            self._gdb.tell(RemoveTrace(number))
        return number > _TRACES

    def switch(self, number: int, on: bool) -> None:
        """Whether a probe that traces is in force from the next run on."""
        (self._off.discard if on else self._off.add)(number)

    async def arm(self) -> None:
        """Put the probes in force: the target is about to run freely."""
        if not self._probes:
            return
        try:
            found = await self._write()
            found.update(await self._gdb.ask(ArmProbes(sorted(self._off))))
        except CommandError as error:  # gdb's own breakpoints are in force, and the target can run
            found = dict.fromkeys(self._probes, error.message)
        self.left_out = found
        self.ever_left_out = {**self.ever_left_out, **found}

    async def _write(self) -> dict[int, str]:
        """Write the traces that wait for it. Returns why some could not be written, by their keys."""
        failed: dict[int, str] = {}
        waiting, self._unwritten = list(self._unwritten.values()), {}
        for at in range(0, len(waiting), _AT_ONCE):
            failed.update(await self._gdb.ask(InsertProbes(waiting[at : at + _AT_ONCE])))
        return failed

    def forget(self) -> None:
        """The process runs another program."""
        self.signal, self._probes, self.left_out = None, {}, {}
        self._unwritten, self._off = {}, set()

    async def pass_hits(self, gdb_thread: int) -> None:
        """A step of this thread begins: no hit that was told is met again. gdb tells of a stop meanwhile."""
        if self.signal is not None and await self._gdb.ask(PassHits(gdb_thread)):
            self._gdb.tell(StopAgain(gdb_thread))
            await self._gdb.ask(PassHits(gdb_thread))  # gdb looks at it when the stop is over

    def as_of_function(self, event: NativeStopped) -> NativeStopped:
        """A stop in code of ours, told as one in the function: the thread is there by now, and the code as it was.

        A thread that has sent the signal of a hit has hit the breakpoint. So has one that has faulted where a condition
        reads memory: whoever takes the stop asks gdb for the condition. In a trace that stop is nobody's, and so it is
        where somebody else has sent that signal.
        """
        if event.cause is not StopCause.SIGNAL:
            return event
        is_ours = event.signal is not None and event.signal == self.signal
        pc = event.pc
        for number, probe in self._probes.items():
            if pc is None:
                break
            faulted = event.signal in OF_MEMORY_NAMES and _reads_at(probe, pc)
            if not probe.traces and (faulted or (is_ours and pc in (probe.sent, probe.address))):
                return NativeStopped(
                    StopCause.BREAKPOINT, event.thread, event.gdb_thread, probe.address, number, words=_HIT
                )
            if faulted:
                return replace(event, cause=StopCause.INTERRUPTED, pc=probe.address)
            if probe.thunk <= pc < probe.thunk + len(probe.code):
                event = replace(event, pc=dict(probe.moved).get(pc, probe.address))
                break
        return replace(event, cause=StopCause.INTERRUPTED) if is_ours else event


def _reads_at(probe: ProbeCode, pc: int) -> bool:
    """Whether a condition reads memory at an instruction of its code."""
    return any(place == pc and "reading" in marks for place, _, marks in probe.states)
