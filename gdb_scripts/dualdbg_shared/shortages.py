"""What the machine ran out of when a call failed, and what to type: decided by errno, and by trying.

For dualdbg itself, and for the interpreter of a program that is about to begin.
"""

from __future__ import annotations

import errno
import resource
from _thread import start_new_thread
from typing import Callable, Optional, Tuple

_STARTERS = ("start_new_thread", "start_joinable_thread")  # of _thread, from 3.13 on the second

Words = Tuple[str, str]
"""What is short, and what to type."""


def of(error: BaseException) -> Optional[Words]:
    """Where ``error`` tells of a limit, a full disk or the like; None for any other failure."""
    if isinstance(error, MemoryError):
        return "there is no memory left", "ulimit -v shows the limit, free the machine's"
    if isinstance(error, RuntimeError) and (_of_thread_start(error) or not _can_start_a_thread()):
        return of_threads()
    if not isinstance(error, OSError) or error.errno not in _SHORT:
        return None
    what, hint = _SHORT[error.errno]
    named = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return f"{named}{error.strerror}: {what()}", hint


def _of_thread_start(error: RuntimeError) -> bool:
    """Whether it was raised where a thread was to be started. A moment later there may be room for one again."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code = trace.tb_frame.f_code
    return any(name.endswith(_STARTERS) for name in (*code.co_names, *code.co_varnames))


def _can_start_a_thread() -> bool:
    try:
        start_new_thread(lambda: None, ())
    except RuntimeError:
        return False
    return True


def of_threads() -> Words:
    """Where a thread was needed and could not be started."""
    return f"no thread can be started: {_processes()}", _SHORT[errno.EAGAIN][1]


def _limit(kind: int) -> str:
    soft, _ = resource.getrlimit(kind)
    return "no limit" if soft == resource.RLIM_INFINITY else str(soft)


def _files() -> str:
    return f"the limit is {_limit(resource.RLIMIT_NOFILE)} open files"


def _processes() -> str:
    return f"the user's limit is {_limit(resource.RLIMIT_NPROC)} processes and threads, a container may have its own"


_PLACES = "make room there, or name other folders: TMPDIR=DIR XDG_CACHE_HOME=DIR"
_SHORT: dict[int, Tuple[Callable[[], str], str]] = {
    errno.ENOSPC: (lambda: "the disk is full", _PLACES),
    errno.EDQUOT: (lambda: "the user's share of the disk is full", _PLACES),
    errno.EROFS: (lambda: "nothing can be written there", _PLACES),
    errno.EMFILE: (_files, "ulimit -n 1024 raises it"),
    errno.ENFILE: (lambda: "the machine has too many open files", "sysctl fs.file-max shows the limit"),
    errno.EAGAIN: (_processes, "ulimit -u shows it; end some processes, or raise the container's pids limit"),
    errno.ENOMEM: (lambda: "the machine has too little memory", "end some processes"),
}
