"""How long a thread sleeps that has asked for a set time: from the arguments of its call, which lie in its memory.

clock_nanosleep(2), nanosleep(2), and select(2) without descriptors, by which CPython up to 3.10 sleeps.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Sequence

from ..errors import UnreadableMemory
from .facts import Sleep
from .linux.memory import Memory

_PAIR = struct.Struct("@ll")  # timespec: seconds and ns; timeval: seconds and us
_ABSOLUTE = 1  # TIMER_ABSTIME, time.h
_CLOCKS = (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC)  # that run while nobody looks, and are the same for all


def sleep_of(pid: int, name: str, arguments: Sequence[int], memory: Memory) -> Sleep | None:
    """How long process ``pid`` is to stay in the call ``name``. None for another call, and where it cannot be read.

    The thread has to be held: what is left of a select the kernel writes there when a stop interrupts it.
    """
    try:
        if name == "clock_nanosleep":
            clock, flags, wanted = (
                arguments[0] & 0xFFFFFFFF,
                arguments[1],
                _seconds(memory, arguments[2], 1e9),
            )
            if not flags & _ABSOLUTE:
                return Sleep(wanted, False)
            if clock not in _CLOCKS or not _has_our_clocks(pid):
                return None
            return Sleep(max(0.0, wanted - time.clock_gettime(clock)), True)
        if name == "nanosleep":
            return Sleep(_seconds(memory, arguments[0], 1e9), False)
        if name in ("select", "pselect6") and arguments[0] == 0 and arguments[4]:
            return Sleep(_seconds(memory, arguments[4], 1e6 if name == "select" else 1e9), True)
    except UnreadableMemory:
        return None
    return None


def _seconds(memory: Memory, address: int, parts: float) -> float:
    whole, part = _PAIR.unpack(memory.read(address, _PAIR.size))
    return float(whole + part / parts)


def _has_our_clocks(pid: int) -> bool:
    """Whether no time namespace has moved the clocks of a process (time_namespaces(7), Linux 5.6)."""
    try:
        return os.readlink(f"/proc/{pid}/ns/time") == os.readlink("/proc/self/ns/time")
    except FileNotFoundError:
        return True  # the kernel has none
    except OSError:
        return False
