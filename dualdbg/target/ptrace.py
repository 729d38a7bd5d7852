"""Whether we may trace a process: asks the kernel beforehand.

Documentation/admin-guide/LSM/Yama.rst. Under scope 1 a process may be traced by its ancestors, and by the
process that it named with PR_SET_PTRACER and that one's descendants (`ptracer_exception_found` in
security/yama/yama_lsm.c): a launched target names dualdbg, so gdb, our child, may trace it.
"""

from __future__ import annotations

import ctypes
import os

from .permission import refusal

PTRACE_SEIZE = 0x4206  # linux/ptrace.h


def check(pid: int) -> None:
    """Raises PermissionRefused, TargetGone or TargetError, with the reason, when we may not trace the process."""
    number = probe(pid)
    if number:
        raise refusal(pid, number)


def probe(pid: int) -> int:
    """The errno with which the kernel refuses that we trace the process; 0 when it allows it.

    Negative where a filter has ended who asked (seccomp(2)).

    A child of ours seizes it and ends, which lets it go: nothing stops, no signal is sent. gdb is a child of
    ours as well, so the answer holds for gdb.
    """
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.restype = ctypes.c_long
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    child = os.fork()
    if child == 0:
        refused = ptrace(PTRACE_SEIZE, pid, None, None) != 0
        os._exit(ctypes.get_errno() if refused else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
