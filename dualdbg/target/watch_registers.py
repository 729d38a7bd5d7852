"""How many places the processor can watch at once, which sizes, and up to where: by machine.

x86-64: four registers, each for 1, 2, 4 or 8 bytes, aligned (Intel SDM 17.2). AArch64: 2 to 16, each for bytes of one
doubleword (Arm ARM, DBGWCR<n>_EL1.BAS); the kernel tells a tracer how many there are (NT_ARM_HW_WATCH,
struct user_hwdebug_state of asm/ptrace.h).
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from dataclasses import dataclass
from functools import cache

LARGEST = 8  # bytes; what one register watches on both machines
_X86_64_SIZES = (8, 4, 2, 1)
# The kernel takes no place behind the end of a program's memory: with four-level paging on x86-64; on AArch64 a program
# has to ask for memory above this.
_ENDS = {"x86_64": 1 << 47, "aarch64": 1 << 48}
_FEWEST = 2  # Arm ARM, ID_AA64DFR0_EL1.WRPs
_SEIZE, _INTERRUPT, _GETREGSET, _NT_ARM_HW_WATCH = 0x4206, 0x4207, 0x4204, 0x403
_EXITKILL = 1 << 20  # it ends with us
_SIZE = 8 + 16 * 16  # of struct user_hwdebug_state


@dataclass(frozen=True)
class Watching:
    """What one machine can watch. ``count``: registers; ``end``: no place at this address or above can be watched."""

    machine: str
    count: int

    @property
    def end(self) -> int:
        """The first address that cannot be watched."""
        return _ENDS.get(self.machine, 1 << 47)

    def needed(self, address: int, size: int) -> int:
        """How many registers this place takes."""
        if self.machine == "aarch64":
            return (address + size - 1) // LARGEST - address // LARGEST + 1
        count = 0
        while size > 0:
            piece = next(one for one in _X86_64_SIZES if address % one == 0 and one <= size)
            address, size, count = address + piece, size - piece, count + 1
        return count


@cache
def watching() -> Watching:
    """What this machine can watch for the user.

    On x86-64 one of the registers is for the return from a call (session/stepping/momentary_breakpoints.py).
    """
    machine = os.uname().machine
    return Watching(machine, _asked() if machine == "aarch64" else 3)


def _asked() -> int:
    """The number that the kernel says of a process of ours, which stands still for that; the fewest where it cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    with subprocess.Popen(["/bin/sleep", "60"], stdin=subprocess.DEVNULL, env={}) as process:
        try:
            pid = process.pid
            if libc.ptrace(_SEIZE, pid, None, _EXITKILL) or libc.ptrace(_INTERRUPT, pid, None, None):
                return _FEWEST  # a sandbox, or Yama
            _, status = os.waitpid(pid, 0)
            data = ctypes.create_string_buffer(_SIZE)
            vector = Vector(ctypes.addressof(data), _SIZE)
            kind = ctypes.c_void_p(_NT_ARM_HW_WATCH)
            if not os.WIFSTOPPED(status) or libc.ptrace(_GETREGSET, pid, kind, ctypes.byref(vector)):
                return _FEWEST
            return max(int(data.raw[0]), _FEWEST)  # the lowest byte of dbg_info
        finally:
            process.send_signal(signal.SIGKILL)
