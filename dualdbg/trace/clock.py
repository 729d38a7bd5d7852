"""The processor's time stamp counter, and what it is in seconds."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import time
from collections.abc import Callable

MACHINE = "x86_64"
"""What it is written for, in the words of uname(2)."""


class OwnCode:
    """It is there as long as this object. Raises OSError where machine code is refused."""

    def __init__(self, code: bytes) -> None:
        if os.uname().machine != MACHINE:
            raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC))
        self._memory = mmap.mmap(-1, -(-len(code) // mmap.PAGESIZE) * mmap.PAGESIZE)
        self._memory.write(code)
        self.address = address_of(self._memory)
        libc = ctypes.CDLL(None, use_errno=True)
        access = mmap.PROT_READ | mmap.PROT_EXEC
        size = ctypes.c_size_t(len(self._memory))
        if libc.mprotect(ctypes.c_void_p(self.address), size, access) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


def address_of(memory: mmap.mmap | memoryview) -> int:
    """Where writable memory lies."""
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


# rdtsc; shl rdx, 32; or rax, rdx; ret
_CODE = bytes.fromhex("0f3148c1e2204809d0c3")
_TRIES = 16  # to read both clocks at one moment


class Clock:
    """Reads the counter that records have as their time (x86-64). Raises OSError where machine code is refused.

    Beside it is the raw monotonic clock, whose rate nobody changes (clock_gettime(2)): probes in Python have its time.
    On other machines, where there are no other probes, it is read in the place of the counter.
    """

    def __init__(self) -> None:
        self._read: Callable[[], int] = _nanoseconds
        if os.uname().machine == MACHINE:
            self._code = OwnCode(_CODE)
            self._read = ctypes.CFUNCTYPE(ctypes.c_uint64)(self._code.address)
        self.began, self.began_ns = self._both()

    def ticks_a_second(self) -> float:
        """How fast it is, measured since this was made."""
        ticks, nanoseconds = self._both()
        return (ticks - self.began) * 1e9 / (nanoseconds - self.began_ns)

    def _both(self) -> tuple[int, int]:
        """Both clocks at one moment: of some tries the one that took least, for we may be interrupted."""
        found = []
        for _ in range(_TRIES):
            before = self._read()
            nanoseconds = _nanoseconds()
            after = self._read()
            found.append((after - before, (before + after) // 2, nanoseconds))
        return min(found)[1:]


def _nanoseconds() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
