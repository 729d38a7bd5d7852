"""The time limits of other processes' sockets: SO_RCVTIMEO and SO_SNDTIMEO of socket(7), by a copy of the descriptor.

pidfd_getfd(2) needs the right to trace and Linux 5.6. The copy is closed at once, and nothing is changed.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct

from ...shared.pidfds import pidfd_open

_PIDFD_GETFD = 438  # asm-generic/unistd.h; x86-64 has the same
_TIMEVAL = struct.Struct("@ll")
_libc = ctypes.CDLL(None, use_errno=True)


def time_limit(pid: int, number: int, sending: bool) -> float | None:
    """After how many seconds a call on descriptor ``number`` gives up. None for no limit, and where none can be read:
    without the right, of what is no socket, on an older kernel."""
    try:
        process = pidfd_open(pid)
    except OSError:
        return None
    try:
        copy = _libc.syscall(_PIDFD_GETFD, process, number, 0)
    finally:
        os.close(process)
    if copy < 0:
        return None
    option = socket.SO_SNDTIMEO if sending else socket.SO_RCVTIMEO
    try:
        one = socket.socket(fileno=copy)
    except OSError:  # it is none any more
        os.close(copy)
        return None
    try:
        with one:
            seconds, micro = _TIMEVAL.unpack(one.getsockopt(socket.SOL_SOCKET, option, _TIMEVAL.size))
    except OSError:
        return None
    return seconds + micro / 1e6 or None
