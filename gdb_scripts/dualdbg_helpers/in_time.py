"""Ends what takes too long to show: a printer that walks raw memory may go in a circle for ever.

gdb gets a SIGINT from a timer of its own, as by Ctrl-C: it ends loops of gdb and of Python alike.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import threading
import time
from typing import Callable, Iterator, Optional, Tuple, TypeVar

from dualdbg_shared.patience import factor

T = TypeVar("T")

TOO_LONG = "<takes too long to read>"
ONE = 4.0 * (factor() or 1.0)  # seconds for one value
_LEAST = ONE / 64  # for each value behind several that took too long
_AGAIN = 0.2  # seconds until the next SIGINT: the code that gets it may go on
_CLOCK_MONOTONIC = 1
_SIGEV_THREAD_ID = 4

_ended = 0  # values of this command whose time was up
_runs = False  # some work has its time
_timer: "list[Callable[[float, float], None]]" = []  # made at first need


@contextlib.contextmanager
def one_command() -> Iterator[None]:
    """What is entered is a command. Each value of it that takes too long halves the time for those that follow."""
    global _ended
    _ended = 0  # commands of gdb's own have no end here
    try:
        yield
    finally:
        _ended = 0


def within(work: "Callable[[], T]", seconds: "float | None" = None) -> "Tuple[Optional[T], bool]":
    """What ``work`` returns, and whether it was ended because its time was up: None or a part is returned then.

    ``seconds``: None for the time that one value has. Within other such work its time holds.
    """
    global _ended, _runs
    if _runs:
        return work(), False
    if seconds is None:
        seconds = max(_LEAST, ONE / 2**_ended)
    began, result = time.monotonic(), None
    if not _timer:
        _timer.append(_made_timer())
    try:
        try:
            _runs = True
            _timer[0](seconds, _AGAIN)
            result = work()
        finally:
            _timer[0](0.0, 0.0)
            _take_signals()
    except KeyboardInterrupt:
        if time.monotonic() - began < seconds:
            raise  # somebody else's
    finally:
        _runs = False
    # gdb itself may have taken the interrupt, and returned what it had.
    is_late = time.monotonic() - began >= seconds
    _ended += is_late
    return result, is_late


def _take_signals() -> None:
    """Where a call begins, Python raises what a signal has left."""


def _made_timer() -> "Callable[[float, float], None]":
    """A timer that sends gdb's own thread a SIGINT: it is called with the seconds to the first, and between two."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "timer_create"):  # a glibc before 2.34
        libc = ctypes.CDLL("librt.so.1", use_errno=True)
    timer = ctypes.c_void_p()
    event = (ctypes.c_int * 16)(0, 0, signal.SIGINT, _SIGEV_THREAD_ID, threading.get_native_id())
    if libc.timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) != 0:
        raise OSError(ctypes.get_errno(), "timer_create")

    def set_timer(first: float, again: float) -> None:
        words = [int(part) for one in (again, first) for part in (one, one % 1 * 1e9)]
        libc.timer_settime(timer, 0, ctypes.byref((ctypes.c_long * 4)(*words)), None)

    return set_timer
