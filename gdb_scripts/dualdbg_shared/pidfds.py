"""Descriptors of processes (pidfd_open(2)), also in a Python whose ``os`` has no such function.

That is one that was compiled with older headers of the kernel, or, as with musl, without them.
"""

import os

_PIDFD_OPEN = 434  # asm-generic/unistd.h: on all processors


def pidfd_open(pid: int) -> int:
    """A descriptor of the process, which programs that are started do not inherit. Raises OSError."""
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(pid)
    import ctypes  # takes long, and most have no need of it

    descriptor = int(ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_OPEN, pid, 0))
    if descriptor < 0:
        problem = ctypes.get_errno()
        raise OSError(problem, os.strerror(problem))
    return descriptor
