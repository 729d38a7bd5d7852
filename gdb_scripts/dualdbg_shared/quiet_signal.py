"""A signal that stops a traced process, and that does nothing in it should the tracer die at that moment.

The kernel reports every signal to the tracer, one that is ignored too (kernel/signal.c, sig_ignored). Without a tracer
an ignored signal is dropped, whether the program ignores it or it is ignored by default (signal(7)). SIGCONT is left
out because sending it has effects of its own, and SIGCHLD because children send it at any time.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Collection, Dict, List, Optional

from .proc_files import read_status

LAST_RESORT = "SIGSTOP"
"""Cannot be blocked; it stops a process that has lost its tracer until that is repaired."""

_IGNORED_BY_DEFAULT = (signal.SIGURG, signal.SIGWINCH)
_NAMED = range(1, 32)  # the signals that have a name of their own, signal(7)
_MASKS = ("SigPnd", "SigBlk", "SigIgn", "SigCgt")
_NEVER = {signal.SIGCONT, signal.SIGCHLD, signal.SIGINT, signal.SIGTRAP}


def choose(pid: int, taken: Collection[str] = ()) -> str:
    """The name of the signal for process ``pid``, none of ``taken``. Raises OSError when the process is gone."""
    threads = [status for tid in _threads(pid) for status in [_status(pid, tid)] if status is not None]
    if not threads:
        raise ProcessLookupError
    best = LAST_RESORT
    fewest = len(threads)
    for number in _doing_nothing(threads[0]):
        name = signal.Signals(number).name
        blocking = sum(_has(thread["SigBlk"], number) for thread in threads)
        if blocking < fewest and name not in taken:  # who blocks it may wait for it (sigwait(3), signalfd(2))
            best, fewest = name, blocking
    return best


def is_pending(pid: int, number: int) -> bool:
    """Whether a signal waits for one of the threads alone: it was not sent to the whole process."""
    return any(
        status is not None and _has(status["SigPnd"], number)
        for status in (_status(pid, tid) for tid in _threads(pid))
    )


def _doing_nothing(status: Dict[str, int]) -> List[int]:
    by_default = [int(number) for number in _IGNORED_BY_DEFAULT if not _has(status["SigCgt"], number)]
    ignored = [number for number in _NAMED if _has(status["SigIgn"], number) and number not in _NEVER]
    return by_default + ignored


def _has(mask: int, number: int) -> bool:
    return bool(mask >> (number - 1) & 1)


def _threads(pid: int) -> List[int]:
    return [int(path.name) for path in Path("/proc/%d/task" % pid).iterdir()]


def _status(pid: int, tid: int) -> Optional[Dict[str, int]]:
    """The masks of a thread (proc(5)); None for one that has ended."""
    try:
        status = read_status("/proc/%d/task/%d/status" % (pid, tid))
    except OSError:
        return None
    if status["State"][0] in "ZX" or not all(name in status for name in _MASKS):
        return None
    return {name: int(status[name], 16) for name in _MASKS}
