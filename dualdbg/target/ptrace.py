"""Whether we may trace a process: asks the kernel beforehand.

Documentation/admin-guide/LSM/Yama.rst. Under scope 1 a process may be traced by its ancestors, and by the
process that it named with PR_SET_PTRACER and that one's descendants (`ptracer_exception_found` in
security/yama/yama_lsm.c): a launched target names dualdbg, so gdb, our child, may trace it.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable

from ..errors import DualdbgError
from .permission import look, refusal

PTRACE_SEIZE = 0x4206  # linux/ptrace.h


def check(pid: int) -> None:
    """Raises PermissionRefused, TargetGone or TargetError, with the reason, when we may not trace the process."""
    number = probe(pid)
    if number:
        raise refusal(pid, number)


def why_not(pid: int) -> DualdbgError | None:
    """What :func:`check` would raise. The process is not traced for that, so nobody else is refused meanwhile.

    To open a process's memory the kernel asks for the same as to trace it (PTRACE_MODE_ATTACH; mem_open in
    fs/proc/base.c), but for that it may have no tracer yet, and that ptrace(2) is carried out at all.
    """
    situation = look(pid)
    if situation is None or situation.state in "ZX" or situation.tracer or situation.blocked:
        return refusal(pid, errno.EPERM)

    def open_memory() -> int:
        try:
            os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        except OSError as error:
            return error.errno or errno.EPERM
        return 0

    number = _of_child(open_memory)
    return refusal(pid, number) if number else None


def probe(pid: int) -> int:
    """The errno with which the kernel refuses that we trace the process; 0 when it allows it.

    Negative where a filter has ended who asked (seccomp(2)).

    A child of ours seizes it and ends, which lets it go: nothing stops, no signal is sent.
    """
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.restype = ctypes.c_long
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    return _of_child(lambda: ctypes.get_errno() if ptrace(PTRACE_SEIZE, pid, None, None) != 0 else 0)


def _of_child(ask: Callable[[], int]) -> int:
    """What a child of ours is answered, for gdb is a child of ours as well. Negative where that has ended the child."""
    child = os.fork()
    if child == 0:
        os._exit(ask())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
