"""Machine code that runs in this process: memory for it, never writable and executable at once (x86-64)."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os

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
