"""The three standard streams: what is closed is made safe, and a failure to write is known for what it is."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO

from ..errors import DualdbgError

_STANDARD = 3


class OutputLost(OSError):
    """Standard output cannot be written: the reader of a pipe is gone, the disk is full."""


def prepare() -> None:
    """Make the streams usable. Where standard output was closed, the first write raises :class:`OutputLost`.

    A closed descriptor would be given to the next file or socket, and the program's output would go into it. So it
    becomes /dev/null, as the C library does for programs of other users.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < _STANDARD:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    if sys.stdout is sys.__stdout__:  # a test may have its own
        sys.stdout = _text(
            _Output(1, "wb", closefd=False), line_buffering=sys.stdout is None or sys.stdout.isatty()
        )
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Errors(2, "wb", closefd=False), line_buffering=True)


def were_closed(number: int) -> bool:
    """Whether standard stream ``number`` was closed when this process began."""
    return (sys.__stdin__, sys.__stdout__, sys.__stderr__)[number] is None


def told(error: OutputLost) -> DualdbgError:
    """What the user hears of an output that cannot be written, though somebody reads it."""
    return DualdbgError(
        f"standard output cannot be written: {error.strerror}",
        "> FILE keeps it where there is room, > /dev/null drops it",
    )


def abandon_output() -> None:
    """Nothing more is written to standard output, not even at exit."""
    _Output.abandoned = True


class _Output(io.FileIO):
    abandoned = False

    def write(self, data: Any) -> int:
        if self.abandoned:
            return len(data)
        if were_closed(1):
            raise OutputLost(errno.EBADF, "it is closed")
        try:
            return super().write(data)
        except OSError as error:
            raise OutputLost(error.errno, error.strerror) from error


class _Errors(io.FileIO):
    """Messages that nobody can be told are dropped; the exit status says what happened all the same."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _text(raw: io.FileIO, line_buffering: bool) -> TextIO:
    encoding = (sys.__stdout__ or sys.__stderr__ or sys.stdin).encoding
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=line_buffering
    )
