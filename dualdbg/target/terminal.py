"""Lends the controlling terminal to the target while it runs, with the modes that each side has set."""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..shared.proc_files import is_stopped

DEVICE = "/dev/tty"  # the controlling terminal, wherever the standard streams point (tty(4))


class Terminal:
    """The controlling terminal that dualdbg was started on in the foreground.

    Made by :meth:`open`. When a process of a background group begins to read the terminal, the kernel stops its whole
    group (SIGTTIN). So a process must get the terminal before it reads. A read that has begun goes on: a target that
    waits in one and is not held by gdb gets the next line.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._our_group = os.getpgrp()
        self._our_modes: list[Any] = termios.tcgetattr(descriptor)
        self._target_modes: list[Any] | None = None
        self._lent_to: int | None = None

    @classmethod
    def open(cls) -> Terminal | None:
        """The terminal, or None when it cannot be lent: there is no terminal, or we run in the background."""
        try:
            descriptor = os.open(DEVICE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:  # ENXIO: no controlling terminal; ENOENT or EACCES: a bare container
            return None
        try:
            if os.tcgetpgrp(descriptor) == os.getpgrp():
                return cls(descriptor)
        except OSError:
            pass  # it has hung up
        os.close(descriptor)
        return None

    def give(self, group: int, is_held: bool = False) -> None:
        """Makes ``group`` the foreground process group, with the modes it had when it was last there.

        A leader that the kernel stopped because it read the terminal too early goes on. One that ``is_held`` has not
        begun, and stays stopped.
        """
        if self._lent_to == group:
            return
        self._our_modes = termios.tcgetattr(self.descriptor)
        if self._change(group, self._target_modes):
            self._lent_to = group
            if not is_held and is_stopped(group):
                os.killpg(group, signal.SIGCONT)

    def take(self) -> None:
        """Makes dualdbg the foreground again, with the modes it had."""
        if self._lent_to is None:
            return
        try:
            self._target_modes = termios.tcgetattr(self.descriptor)
        except termios.error:
            self._target_modes = None  # it has hung up
        self._change(self._our_group, self._our_modes)
        self._lent_to = None

    def close(self) -> None:
        """Takes it back, and forgets it."""
        self.take()
        os.close(self.descriptor)

    def _change(self, group: int, modes: list[Any] | None) -> bool:
        with _output_signal_blocked():
            try:
                os.tcsetpgrp(self.descriptor, group)
                if modes is not None:
                    termios.tcsetattr(self.descriptor, termios.TCSADRAIN, modes)
            except (OSError, termios.error):  # the group is gone (EPERM, ESRCH), or the terminal (EIO)
                return False
        return True


def group_of(pid: int) -> int:
    """The process group of a process; of one that has ended its own number."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return pid


@contextmanager
def _output_signal_blocked() -> Iterator[None]:
    """Blocks SIGTTOU, by which the kernel stops a background process that changes the terminal."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
