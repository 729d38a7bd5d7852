"""What the machine ran out of when a call failed, and what to type: decided by errno, and by trying."""

from __future__ import annotations

import errno
import resource
import threading
from collections.abc import Callable

from .errors import DualdbgError


def shortage(error: BaseException) -> DualdbgError | None:
    """The error for the user where ``error`` tells of a limit, a full disk or the like; None for any other failure."""
    if isinstance(error, MemoryError):
        return DualdbgError("there is no memory left", "ulimit -v shows the limit, free the machine's")
    if isinstance(error, RuntimeError) and not can_start_a_thread():  # all that Thread.start says of it
        return no_threads()
    if not isinstance(error, OSError) or error.errno not in _SHORT:
        return None
    what, hint = _SHORT[error.errno]
    named = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return DualdbgError(f"{named}{error.strerror}: {what()}", hint)


def can_start_a_thread() -> bool:
    """Whether a thread can be started now."""
    try:
        threading.Thread(target=lambda: None).start()
    except RuntimeError:
        return False
    return True


def no_threads() -> DualdbgError:
    """The error where a thread was needed and could not be started."""
    return DualdbgError(f"dualdbg can start no thread: {_processes()}", _SHORT[errno.EAGAIN][1])


def _limit(kind: int) -> str:
    soft, _ = resource.getrlimit(kind)
    return "no limit" if soft == resource.RLIM_INFINITY else str(soft)


def _files() -> str:
    return f"the limit is {_limit(resource.RLIMIT_NOFILE)} open files"


def _processes() -> str:
    return f"the user's limit is {_limit(resource.RLIMIT_NPROC)} processes and threads, a container may have its own"


_PLACES = "make room there, or name other folders: TMPDIR=DIR XDG_CACHE_HOME=DIR"
_SHORT: dict[int, tuple[Callable[[], str], str]] = {
    errno.ENOSPC: (lambda: "the disk is full", _PLACES),
    errno.EDQUOT: (lambda: "the user's share of the disk is full", _PLACES),
    errno.EROFS: (lambda: "nothing can be written there", _PLACES),
    errno.EMFILE: (_files, "ulimit -n 1024 raises it"),
    errno.ENFILE: (lambda: "the machine has too many open files", "sysctl fs.file-max shows the limit"),
    errno.EAGAIN: (_processes, "ulimit -u shows it; end some processes, or raise the container's pids limit"),
    errno.ENOMEM: (lambda: "the machine has too little memory", "end some processes"),
}
