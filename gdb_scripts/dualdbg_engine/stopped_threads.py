"""Registers and memory of a process whose threads are all stopped, behind gdb's back: all at once, or not at all."""

from __future__ import annotations

import ctypes
import os
from typing import Iterator

import gdb

TGKILL = 234  # asm/unistd_64.h
_GETREGS, _SETREGS, _GETSIGINFO, _SETSIGMASK = 12, 13, 0x4202, 0x420B  # sys/ptrace.h
_SIGINFO_SIZE = 128  # asm-generic/siginfo.h
# struct user_regs_struct of x86-64, sys/user.h.
_ORDER = [
    *("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi"),
    *("orig_rax", "rip", "cs", "flags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs"),
]
INDEX = {name: index for index, name in enumerate(_ORDER)}
_Registers = ctypes.c_uint64 * len(_ORDER)
WORD = (1 << 64) - 1


class Memory:
    """The target's memory. Its code is written to by the kernel, whatever its pages allow (proc(5), mem)."""

    def __init__(self) -> None:
        self._file = os.open("/proc/%d/mem" % gdb.selected_inferior().pid, os.O_RDWR | os.O_CLOEXEC)

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._file)

    def read(self, address: int, size: int) -> bytes:
        """As much as can be read."""
        try:
            return os.pread(self._file, size, address)
        except OSError:
            return b""

    def write(self, address: int, data: bytes) -> None:
        """All at once, where it is within a page."""
        if os.pwrite(self._file, data, address) != len(data):
            raise gdb.GdbError("memory at %#x cannot be written" % address)

    def word(self, address: int) -> int:
        """The eight bytes there."""
        return int.from_bytes(self.read(address, 8), "little")


_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long
_libc.syscall.restype = ctypes.c_long


def registers_of(tid: int) -> "ctypes.Array[ctypes.c_uint64] | None":
    """The registers of a thread that is stopped; None for one that has ended."""
    found = _Registers()
    return found if _libc.ptrace(_GETREGS, tid, None, ctypes.byref(found)) == 0 else None


def set_registers(tid: int, values: "ctypes.Array[ctypes.c_uint64]") -> None:
    """Give a thread these registers. Raises GdbError."""
    if _libc.ptrace(_SETREGS, tid, None, ctypes.byref(values)) != 0:
        raise gdb.GdbError(
            "thread %d does not take its registers: %s" % (tid, os.strerror(ctypes.get_errno()))
        )


def signal_of(tid: int) -> int:
    """The number of the signal for which a thread has stopped; 0 where it was none."""
    found = (ctypes.c_int32 * (_SIGINFO_SIZE // 4))()
    return found[0] if _libc.ptrace(_GETSIGINFO, tid, None, ctypes.byref(found)) == 0 else 0


def all_threads() -> "Iterator[tuple[int, ctypes.Array[ctypes.c_uint64]]]":
    """Each thread with its registers."""
    for thread in gdb.selected_inferior().threads():
        registers = registers_of(thread.ptid[1])
        if registers is not None:
            yield thread.ptid[1], registers


def forget_registers() -> None:
    """gdb reads the registers again."""
    gdb.execute("maintenance flush register-cache", to_string=True)


def writable_areas(pid: int) -> "list[tuple[int, int]]":
    """Where memory begins and ends that may be a stack."""
    with open("/proc/%d/maps" % pid) as file:
        rows = [line.split(" ", 2) for line in file]
    return [tuple(int(one, 16) for one in row[0].split("-")) for row in rows if row[1].startswith("rw")]  # type: ignore[misc]


def tell_by(pid: int, tid: int, number: int) -> None:
    """Send a signal to a thread. Raises GdbError where that fails."""
    if _libc.syscall(TGKILL, pid, tid, number) != 0:
        raise gdb.GdbError("thread %d takes no signal: %s" % (tid, os.strerror(ctypes.get_errno())))


def block(tid: int, mask: int) -> None:
    """The thread blocks these signals from now on, and no others. Raises GdbError."""
    blocked = ctypes.c_uint64(mask)
    if _libc.ptrace(_SETSIGMASK, tid, 8, ctypes.byref(blocked)) != 0:
        raise gdb.GdbError("thread %d does not take its mask: %s" % (tid, os.strerror(ctypes.get_errno())))
