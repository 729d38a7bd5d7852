"""The end of a process as a pidfd and /proc tell it (proc(5)), also of one that is not a child of ours."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import time
from pathlib import Path

from ..model import Exit
from ..shared.pidfds import pidfd_open
from ..shared.proc_files import read_stat, stat_of
from .afterwards import began_at

# struct pidfd_info and its ioctl (linux/pidfd.h). From Linux 6.15 on it tells the status of a process that is reaped.
# It has a mask, the control group, numbers of the process and of its users, and the status of wait(2).
_INFO = struct.Struct("=QQ11Ii")
_PIDFD_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11
_PIDFD_INFO_EXIT = 1 << 3

_LOOK = 0.02  # seconds between two looks


def has_ended(pid: int) -> bool:
    """Whether all its threads have ended, reaped or not. A main thread may end before others (pthread_exit(3))."""
    try:
        return _ended(f"/proc/{pid}/stat") and _no_thread_lives(pid)
    except OSError:
        return True


async def ends_within(pid: int, seconds: float) -> bool:
    """Whether it has ended. It has so long, unless a tracer holds it all: one that dies still shows as alive."""
    last = time.monotonic() + seconds
    while not has_ended(pid):
        if time.monotonic() > last or _is_held(pid):
            return False
        await asyncio.sleep(_LOOK)
    return True


def end_of(pid: int) -> Exit | None:
    """How the process has ended, all its threads too, while it is not reaped. None while it lives, or is gone."""
    try:
        stat = stat_of(pid)
        if stat.state != "Z" or not _no_thread_lives(pid):
            return None
    except OSError:
        return None
    return exit_of(stat.exit_status)


def exit_of(status: int) -> Exit:
    """What a status of wait(2) means."""
    return Exit(signal=os.WTERMSIG(status)) if os.WIFSIGNALED(status) else Exit(os.WEXITSTATUS(status))


def signal_number(name: str | None) -> int | None:
    """The number of a signal that gdb calls so; None where there is none of this name."""
    if name is None:
        return None
    try:
        return signal.Signals[name].value
    except KeyError:  # Python has no names for the real-time signals but the first and the last
        number = name.removeprefix("SIG")
        return int(number) if number.isdecimal() else None


def kill(pid: int) -> None:
    """End a process, if it has not ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class HeldProcess:
    """A process that is held by a pidfd (pidfd_open(2)), so that another one with its number is not taken for it.

    ``gone`` is set when all its threads have ended; ``exit`` is how, or None where its parent has reaped it and the
    kernel is older than 6.15. For the thread of the event loop. Raises OSError where the process cannot be held, of
    these ProcessLookupError when it has ended.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.exit: Exit | None = None
        self.gone = asyncio.Event()
        self._pidfd: int | None = pidfd_open(pid)
        self._began = began_at(pid)
        asyncio.get_running_loop().add_reader(self._pidfd, self._ended)

    async def wait(self) -> Exit:
        """Waits for its end. Empty where it is not known how it ended."""
        await self.gone.wait()
        return self.exit or Exit()

    def send(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        try:
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, number)
        except ProcessLookupError:
            pass  # it ended a moment ago

    def close(self) -> None:
        """Hold it no longer. May be called again."""
        if self._pidfd is not None:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def _ended(self) -> None:
        assert self._pidfd is not None
        self.exit = _end_of_reaped(self._pidfd)
        if self.exit is None and began_at(self.pid) == self._began:
            self.exit = end_of(self.pid) or _end_of_reaped(self._pidfd)  # it may be reaped in between
        self.gone.set()
        self.close()


def _end_of_reaped(pidfd: int) -> Exit | None:
    """How a process has ended that was reaped after the pidfd was opened. None where the kernel does not tell."""
    asked = _INFO.pack(_PIDFD_INFO_EXIT, *[0] * 13)
    try:
        told = _INFO.unpack(fcntl.ioctl(pidfd, _PIDFD_GET_INFO, asked))
    except OSError:  # a kernel that has not learnt it yet, or a sandbox
        return None
    return exit_of(told[-1]) if told[0] & _PIDFD_INFO_EXIT else None


def _no_thread_lives(pid: int) -> bool:
    return all(_ended(f"{task}/stat") for task in Path(f"/proc/{pid}/task").iterdir())


def _is_held(pid: int) -> bool:
    try:
        return all(read_stat(f"{task}/stat").state == "t" for task in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return False  # a thread has ended meanwhile


def _ended(stat: str) -> bool:
    try:
        return read_stat(stat).has_ended
    except OSError:
        return True
