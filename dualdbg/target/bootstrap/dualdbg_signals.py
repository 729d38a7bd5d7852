"""Runs in the target: threads of the debugger take no signal that the program waits for. CPython 3.8 and later."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A thread raises these itself, also for gdb. Where it blocks one, the kernel takes the program's handler away and kills
# (force_sig_info_to_task in kernel/signal.c).
_FAULTS = {
    _signal.SIGSEGV,
    _signal.SIGBUS,
    _signal.SIGFPE,
    _signal.SIGILL,
    _signal.SIGTRAP,
    _signal.SIGSYS,
}
_BLOCKED = _signal.valid_signals() - _FAULTS


def start_blocked(start: Any, *given: Any) -> Any:
    """Call ``start``, which starts a thread: from its first instruction on it blocks all signals but faults."""
    return _with_mask(_BLOCKED, start, *given)


def call_unblocked(function: Any, *given: Any) -> Any:
    """Call ``function``, which runs code of the user, in a thread of ours: with the main thread's signal mask.

    What that code starts inherits it.
    """
    with open("/proc/self/status", "rb") as file:
        words = next(line for line in file if line.startswith(b"SigBlk:")).split()
    bits = int(words[1], 16)
    mask = [number for number in _signal.valid_signals() if bits >> (number - 1) & 1]
    return _with_mask(mask, function, *given)


def _with_mask(mask: Any, function: Any, *given: Any) -> Any:
    # Changing the mask runs handlers that are due, and those may raise: it is known before it is changed.
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
    try:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        return function(*given)
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
