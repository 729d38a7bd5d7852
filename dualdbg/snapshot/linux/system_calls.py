"""Names of the system calls that threads are found waiting in, and which argument is a descriptor.

Numbers: asm/unistd_64.h (x86-64) and asm-generic/unistd.h (aarch64).
"""

from __future__ import annotations

from .registers import AARCH64, Architecture

# name: (x86-64, aarch64, position of the descriptor argument)
_CALLS: dict[str, tuple[int | None, int | None, int | None]] = {
    "read": (0, 63, 0),
    "write": (1, 64, 0),
    "poll": (7, None, None),
    "ioctl": (16, 29, 0),
    "pread64": (17, 67, 0),
    "pwrite64": (18, 68, 0),
    "readv": (19, 65, 0),
    "writev": (20, 66, 0),
    "select": (23, None, None),
    "sched_yield": (24, 124, None),
    "pause": (34, None, None),
    "nanosleep": (35, 101, None),
    "connect": (42, 203, 0),
    "accept": (43, 202, 0),
    "sendto": (44, 206, 0),
    "recvfrom": (45, 207, 0),
    "sendmsg": (46, 211, 0),
    "recvmsg": (47, 212, 0),
    "wait4": (61, 260, None),
    "semop": (65, 193, None),
    "msgrcv": (70, 188, None),
    "fcntl": (72, 25, 0),
    "flock": (73, 32, 0),
    "fsync": (74, 82, 0),
    "fdatasync": (75, 83, 0),
    "rt_sigtimedwait": (128, 137, None),
    "rt_sigsuspend": (130, 133, None),
    "futex": (202, 98, None),
    "io_getevents": (208, 4, None),
    "restart_syscall": (219, 128, None),
    "exit_group": (231, 94, None),
    "semtimedop": (220, 192, None),
    "clock_nanosleep": (230, 115, None),
    "epoll_wait": (232, None, 0),
    "tgkill": (234, 131, None),
    "waitid": (247, 95, None),
    "openat": (257, 56, None),
    "pselect6": (270, 72, None),
    "ppoll": (271, 73, None),
    "epoll_pwait": (281, 22, 0),
    "accept4": (288, 242, 0),
    "recvmmsg": (299, 243, 0),
    "io_uring_enter": (426, 426, 0),
    "futex_wait": (455, 455, None),
    "epoll_pwait2": (441, 441, 0),
    "futex_waitv": (449, 449, None),
}
READS = ("read", "readv", "pread64", "recvfrom", "recvmsg", "recvmmsg", "accept", "accept4")
WRITES = ("write", "writev", "pwrite64", "sendto", "sendmsg", "connect")
POLLS = ("poll", "ppoll")
SLEEPS = ("nanosleep", "clock_nanosleep")
_BY_NUMBER = tuple(
    {numbers[column]: (name, numbers[2]) for name, numbers in _CALLS.items() if numbers[column] is not None}
    for column in (0, 1)
)


def number_of(architecture: Architecture, name: str) -> int | None:
    """The number of a call that is listed; None where the machine has none of this name."""
    return _CALLS[name][1 if architecture is AARCH64 else 0]


def descriptor_of(architecture: Architecture, call: tuple[int, ...]) -> int | None:
    """The descriptor that a call is about, of its number and its arguments; None for a call that has none."""
    _, position = describe(architecture, call[0])
    return None if position is None else call[1 + position] & 0x7FFFFFFF


def describe(architecture: Architecture, number: int) -> tuple[str, int | None]:
    """The name of a call and the position of its descriptor argument; ``system call N`` for one not listed."""
    table = _BY_NUMBER[1 if architecture is AARCH64 else 0]
    return table.get(number, (f"system call {number}", None))
