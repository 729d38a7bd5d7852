"""pydevd's threads take signals that the program blocks. Report: docs/upstream/blocked-signals.

Runs in the target. CPython 3.8 and later.
"""

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


# Setting the mask runs handlers that are due, and those may raise: what is to be put back is known before.


def start_blocked(start_new_thread: Any, *given: Any) -> Any:
    """Call ``start_new_thread``: the thread blocks all signals but faults, from its first instruction on.

    By that name ``shortages.py`` knows where an error comes from.
    """
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
    try:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, _BLOCKED)
        return start_new_thread(*given)
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)


def call_unblocked(function: Any, *given: Any) -> Any:
    """Call ``function``, which runs code of the user, in a thread of ours: with the main thread's signal mask.

    What that code starts inherits it.
    """
    with open("/proc/self/status", "rb") as file:
        words = next(line for line in file if line.startswith(b"SigBlk:")).split()
    bits = int(words[1], 16)
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
    try:
        mask = [number for number in _signal.valid_signals() if bits >> (number - 1) & 1]
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        return function(*given)
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
