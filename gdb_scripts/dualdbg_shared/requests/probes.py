"""Machine code that counts, records and evaluates conditions in the target."""

from __future__ import annotations

from typing import Dict, NamedTuple, Sequence, Tuple

from .base import Request


class ProbeCode(NamedTuple):
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
    states: Sequence[Tuple[int, int, Sequence[str]]]
    sent: int
    moved: Sequence[Tuple[int, int]]
    counter: int
    limit: int
    signal: str
    traces: bool = False
    ring: Sequence[int] = ()
    calls: Tuple[int, int] = (0, 0)
    is_exit: bool = False


class ListConditionOperations(Request[str], module="probe_conditions"):
    """Return what gdb makes of a condition at an address: the text of ``maintenance agent-eval``.

    ``named``: it is about variables that debug info has there. An error where gdb makes nothing of it.
    """

    address: int
    condition: str
    named: bool


class MapProbeRoom(Request[int], module="probe_memory"):
    """Map memory for probes near an address: ``size`` bytes of code, and behind them as many of data.

    ``mmap`` is the address of the C library's function, which the thread calls. An error where there is no room.
    """

    near: int
    size: int
    reach: int
    mmap: int
    gdb_thread: int


class MapTraceMemory(Request[Tuple[int, int]], module="probe_memory"):
    """Map memory in the target that we can open; return its address, and the target's descriptor of it.

    ``functions`` are the addresses of the C library's memfd_create, mmap and close, which the thread calls; at
    ``near`` there is room for a name. ``sizes``: bytes that are shared, and those of the target's own behind them. An
    error where one of them fails.
    """

    functions: Sequence[int]
    near: int
    sizes: Tuple[int, int]
    gdb_thread: int


class CloseDescriptor(Request[None], module="probe_memory"):
    """Close a descriptor of the target, by its C library's ``close``."""

    close: int
    descriptor: int
    gdb_thread: int


class InsertProbe(Request[None], module="probes"):
    """Write a probe that does the work of gdb's breakpoint ``number`` while the target runs freely."""

    number: int
    probe: ProbeCode


class InsertProbes(Request[Dict[int, str]], module="probes"):
    """The same for many that trace. Returns why some could not be written, by their keys."""

    rows: Sequence[Tuple[int, ProbeCode]]


class RemoveTrace(Request[None], module="probes"):
    """A probe that traces is not in force any more from the next run on."""

    number: int


class CountProbeHits(Request[int], module="probes"):
    """Return how many hits a probe has counted in the target."""

    number: int


class ArmProbes(Request[Dict[int, str]], module="probes"):
    """Put the probes in force but those ``off``: the target is about to run. Returns why some are not, by key."""

    off: Sequence[int]


class PassHits(Request[bool], module="probe_hits", undone=True):
    """A step of this thread begins: no hit that was told is met again. Whether :class:`StopAgain` is to follow."""

    gdb_thread: int


class StopAgain(Request[None], module="probe_hits"):
    """Let gdb see a thread stop where it stands. gdb's answer comes before that is done."""

    gdb_thread: int
