"""The processor's time stamp counter, and what it is in seconds."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

from .own_code import OwnCode

# rdtsc; shl rdx, 32; or rax, rdx; ret
_CODE = bytes.fromhex("0f3148c1e2204809d0c3")


class Clock:
    """Reads the counter that records have as their time (x86-64). Raises OSError where machine code is refused."""

    def __init__(self) -> None:
        self._code = OwnCode(_CODE)
        self._read: Callable[[], int] = ctypes.CFUNCTYPE(ctypes.c_uint64)(self._code.address)
        self.began = self._read()
        self._seconds = time.monotonic()
        self.began_ns = int(self._seconds * 1e9)

    def ticks_a_second(self) -> float:
        """How fast it is, measured since this was made."""
        ticks, seconds = self._read() - self.began, time.monotonic() - self._seconds
        return float(ticks / seconds)
