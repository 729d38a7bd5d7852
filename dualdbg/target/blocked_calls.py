"""Which of a debugger's system calls are refused here whatever they ask: by a seccomp filter, or by a sandbox.

Each is tried on ourselves, where no rule of ptrace(2) but such a ban can refuse it. A child of ours does it, for a
filter may also end who asks (SECCOMP_RET_KILL_PROCESS of seccomp(2)).
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from collections.abc import Callable
from enum import Enum
from functools import cache

from ..shared.proc_files import read_status

_SECCOMP_FILTER = "2"  # proc(5), Seccomp of /proc/PID/status
_PTRACE_CONT = 7  # linux/ptrace.h


def _ptrace(libc: ctypes.CDLL) -> int:
    """The kernel looks for the thread among those that we trace, and we do not trace ourselves: ESRCH."""
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    number = 0 if libc.ptrace(_PTRACE_CONT, os.getpid(), None, None) == 0 else ctypes.get_errno()
    return 0 if number == errno.ESRCH else number


def _process_vm_readv(libc: ctypes.CDLL) -> int:
    """Nothing is read: of no pieces of memory."""
    libc.process_vm_readv.restype = ctypes.c_ssize_t
    libc.process_vm_readv.argtypes = [
        ctypes.c_long,
        ctypes.c_void_p,
        ctypes.c_ulong,
        ctypes.c_void_p,
        ctypes.c_ulong,
        ctypes.c_ulong,
    ]
    return 0 if libc.process_vm_readv(os.getpid(), None, 0, None, 0, 0) == 0 else ctypes.get_errno()


class Call(Enum):
    """A system call that is tried; its value is the name for the user."""

    PTRACE = "ptrace(2)"
    READ = "process_vm_readv(2)"


_TRIALS: dict[Call, Callable[[ctypes.CDLL], int]] = {Call.PTRACE: _ptrace, Call.READ: _process_vm_readv}


@cache
def why_blocked(call: Call) -> str:
    """How the call is refused to whoever asks, in words; empty where it is carried out. Takes a millisecond."""
    libc = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if child == 0:
        os._exit(_TRIALS[call](libc))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        return f"whoever calls it is ended by {signal.Signals(-code).name}"
    return os.strerror(code) if code else ""


@cache
def may_be_fatal(call: Call) -> bool:
    """Whether the call must not even be tried: only under a filter, which is looked at first, because it costs less."""
    return read_status("/proc/self/status").get("Seccomp") == _SECCOMP_FILTER and bool(why_blocked(call))
