"""What a thread is doing, in one line for people. Pure."""

from __future__ import annotations

from ..facts import Lock, SystemCall, ThreadReport
from ..linux.procfs import STATES
from .gpu_waits import gpu_call, in_words

_SLEEPS = {"nanosleep", "clock_nanosleep"}
_FUTEX = {"futex", "futex_wait", "futex_waitv"}


def activity(report: ThreadReport) -> str:
    """For example ``waits for the GIL``, ``holds the GIL; in read of descriptor 3 (pipe:[4711])``."""
    parts = []
    if report.thread.waits_for_gil:
        parts.append("waits for the GIL")
    elif report.thread.holds_gil:
        parts.append("holds the GIL")
    call = report.system_call
    # A core does not tell. A wait for the GIL ends each 5 ms, to look whether it is free.
    if report.state and (report.state != "S" or call is None) and not report.thread.waits_for_gil:
        parts.append(STATES.get(report.state, f"state {report.state}"))
    on_gpu = gpu_call(report)
    if on_gpu is not None:
        parts.append(in_words(on_gpu))
    elif call is not None and not report.thread.waits_for_gil:
        joins = f"waits for thread {report.joins} to end" if report.joins is not None else None
        parts.append(joins or _call(call, report.waits_for))
    return ", ".join(parts)


def _call(call: SystemCall, lock: Lock | None) -> str:
    if call.name in _SLEEPS or call.sleep is not None:
        return "asleep for a set time"
    if call.name in _FUTEX:
        return "waits for a lock (futex)" if lock is not None else "waits to be woken (futex)"
    if call.descriptor is not None:
        what = f" ({call.descriptor.target})" if call.descriptor.target else ""
        return f"in {call.name} of descriptor {call.descriptor.number}{what}"
    return f"in {call.name}"
