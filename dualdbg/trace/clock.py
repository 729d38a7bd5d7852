"""The processor's time stamp counter, and what it is in seconds."""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from collections.abc import Callable

# rdtsc; shl rdx, 32; or rax, rdx; ret
_CODE = bytes.fromhex("0f3148c1e2204809d0c3")


class Clock:
    """Reads the counter that records have as their time (x86-64). Raises OSError where machine code is refused."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        self._memory.write(_CODE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        libc = ctypes.CDLL(None, use_errno=True)
        read_execute = mmap.PROT_READ | mmap.PROT_EXEC
        if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), read_execute) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self._read: Callable[[], int] = ctypes.CFUNCTYPE(ctypes.c_uint64)(address)
        self.began = self._read()
        self._seconds = time.monotonic()
        self.began_ns = int(self._seconds * 1e9)

    def ticks_a_second(self) -> float:
        """How fast it is, measured since this was made."""
        ticks, seconds = self._read() - self.began, time.monotonic() - self._seconds
        return float(ticks / seconds)
