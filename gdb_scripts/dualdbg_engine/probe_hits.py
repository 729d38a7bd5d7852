"""Hits that were told, and threads that stand at them: no hit is met a second time."""

from __future__ import annotations

import signal
from typing import Iterator

import gdb
from dualdbg_shared.proc_files import read_status
from dualdbg_shared.requests.probes import PassHits, StopAgain

from .calls import settings, without_breakpoints
from .probe_state import Probe, now
from .registry import answers
from .stopped_threads import INDEX, Memory, all_threads, forget_registers, set_registers, signal_of, tell_by
from .threads import find_thread

FAULTS = ("SIGSEGV", "SIGBUS")
"""What a thread gets that reads memory where none is."""
_NUMBERS = [signal.Signals[name] for name in FAULTS]


def go_past(memory: Memory, but: int) -> bool:
    """Threads at a hit that was told go on in the moved instructions. Returns whether the thread ``but`` is at one."""
    entries = {at: probe for probe in now.thunks for at in (probe.address, probe.head)}
    is_at_one = False
    for tid, registers in all_threads():
        pc = registers[INDEX["rip"]]
        probe = entries.get(pc) if now.passed.get(tid) == pc else None
        if probe is None or memory.read(probe.site, len(probe.original)) != probe.original:
            continue
        if tid == but:
            is_at_one = True
            continue
        registers[INDEX["rip"]] = probe.back[probe.head]
        set_registers(tid, registers)
    return is_at_one


@answers(PassHits)
def pass_hits(gdb_thread: int) -> bool:
    """A step of a thread begins: no thread comes upon a breakpoint of gdb at which its hit was told already.

    The others go on in the moved instructions. Returns whether gdb does not know it of the thread itself: it knows it
    only of one that it has seen stop there. :func:`stop_again` is to follow then.
    """
    if not now.passed:
        return False
    own = find_thread(gdb_thread).ptid[1]
    with Memory() as memory:
        is_at_one = go_past(memory, own)
    forget_registers()
    return is_at_one and own not in now.known


@answers(StopAgain)
def stop_again(gdb_thread: int) -> None:
    thread = find_thread(gdb_thread)
    tid = thread.ptid[1]
    thread.switch()
    now.calls = True
    try:
        with without_breakpoints(), settings({"scheduler-locking": "on"}):
            gdb.execute("handle %s stop print pass" % now.signal, to_string=True)
            tell_by(now.pid, tid, int(signal.Signals[now.signal]))
            gdb.execute("continue", to_string=True)
            gdb.execute("queue-signal 0", to_string=True)
            now.known.add(tid)
    finally:
        now.calls = False


def tell(tid: int, pc: int) -> None:
    """A thread has taken the signal of a hit; the session tells it (dualdbg/backends/gdb_probes.py).

    It has just sent it, or it was put back to the function before it could take it.
    """
    for probe in now.probes.values():
        if not probe.traces and pc in (probe.sent, probe.address):
            _told(tid, probe)


def forgive(tid: int, pc: int) -> None:
    """A thread has faulted. Where a condition reads memory, the program does not get the signal.

    Another thread has unmapped what was there just before, or the program has protected data of its own. The condition
    has no value, as where the kernel says that nothing is there: a trace goes on, and another hit is told, so that gdb
    looks. It is not evaluated anew in the process: where the memory stays away that would never end.
    """
    probe = _reading(pc)
    if probe is not None:
        _told(tid, probe)


def has_faulted(tid: int, pc: int) -> bool:
    """Whether a thread has faulted so, and gdb will tell it after another thread's stop: it stays there until then."""
    return _reading(pc) is not None and signal_of(tid) in _NUMBERS


def any_has_faulted() -> bool:
    """Whether gdb would give the program such a fault when it lets go of it."""
    return bool(now.thunks) and any(has_faulted(tid, one[INDEX["rip"]]) for tid, one in all_threads())


def _reading(pc: int) -> "Probe | None":
    """The probe whose condition reads memory by this instruction."""
    probe = now.thunk_at(pc)
    return probe if probe is not None and "reading" in probe.state_at(pc)[1] else None


def _told(tid: int, probe: Probe) -> None:
    """The signal is ours: the program does not get it. The thread goes on behind what it has met."""
    now.passed[tid] = probe.address
    if not probe.traces:
        now.told[probe.number] = now.told.get(probe.number, 0) + 1
    gdb.execute("queue-signal 0", to_string=True)


# What the debugger's threads in the target block (pydevd_patches/dualdbg_signals.py).
_BLOCKED_BY_HELPERS = sum(1 << number - 1 for number in signal.valid_signals()) & ~sum(
    1 << int(number) - 1
    for number in (
        signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS,
        signal.SIGKILL, signal.SIGSTOP,
    )
)  # fmt: skip


def blocking(name: str) -> "str | None":
    """Why a hit could not be told by the signal; None where it can."""
    mask = 1 << int(signal.Signals[name]) - 1
    for tid, status in _statuses():
        blocked = int(status.get("SigBlk", "0"), 16)
        if blocked & mask and blocked != _BLOCKED_BY_HELPERS:
            return "thread %d blocks %s" % (tid, name)
        if int(status.get("SigCgt", "0"), 16) & mask:
            return "the program handles %s" % name
    return None


def filtered() -> "str | None":
    """Why a probe may make no system call; None where it may."""
    own = read_status("/proc/self/status")
    for tid, status in _statuses():
        # A container's filter lets gdb do what a probe does.
        if any(status.get(row) != own.get(row) for row in ("Seccomp", "Seccomp_filters")):
            return "system calls are filtered (seccomp) in thread %d" % tid
    return None


def _statuses() -> "Iterator[tuple[int, dict[str, str]]]":
    """What the kernel says of each thread (proc(5), status)."""
    for thread in gdb.selected_inferior().threads():
        try:
            yield thread.ptid[1], read_status("/proc/%d/task/%d/status" % (now.pid, thread.ptid[1]))
        except OSError:
            continue
