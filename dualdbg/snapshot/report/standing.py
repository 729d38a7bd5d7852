"""Whether a thread has stood still between two looks: by its stack, its system call and what the kernel counts. Pure.

A thread that is seen twice at the same place may have been elsewhere in between. The kernel counts how often a thread
has gone to sleep. A stop of ours adds two: the thread wakes, sleeps as one that is held, and sleeps in its call again.
Any more, and it was woken by something else: by what it waits for, or by a time limit of the call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from ..facts import ProcessReport, SystemCall, ThreadReport
from ..linux.system_calls import READS, WRITES
from .fold import thread_key

BUSY = 0.05  # of the time: a thread that waits uses less, what a stop costs it included
_SLEEPS_OF_A_STOP = 2  # ptrace_stop in kernel/signal.c, and the call that begins again
# Calls that end when what they wait for has come, where their socket has no time limit of its own.
_WITHOUT_LIMIT = frozenset(
    (
        *("read", "readv", "pread64", "write", "writev", "pwrite64"),
        *("recvfrom", "recvmsg", "sendto", "sendmsg", "connect", "accept", "accept4"),
        *("ioctl", "fcntl", "flock", "fsync", "fdatasync"),
        *("wait4", "waitid", "pause", "semop", "msgrcv", "rt_sigsuspend"),
    )
)
_SLEEPS = ("nanosleep", "clock_nanosleep")
_MILLISECONDS = {"poll": 2, "epoll_wait": 3, "epoll_pwait": 3}  # the argument with the limit, none below 0
_POINTERS = {"futex": 3, "select": 4, "pselect6": 4, "ppoll": 2, "rt_sigtimedwait": 2, "semtimedop": 3}


@dataclass(frozen=True)
class Standing:
    """Where a thread is, and what the kernel has counted of it. ``stack`` is equal where the stack is; ``call`` is its
    system call, with the arguments where these stay the same while it waits.

    ``expiries``: how often a second the call ends by its own time limit; 0 for one without, None where that is not
    known. ``sleeps``: how often the thread has gone to sleep, ``of_ours`` as often for this look; ``cpu`` in seconds.
    """

    pid: int
    tid: int
    stack: str
    call: str | None
    expiries: float | None
    sleeps: int | None
    of_ours: int
    cpu: float | None


def standing(process: ProcessReport, thread: ThreadReport) -> Standing:
    """That of a thread of a process."""
    call = thread.system_call
    expiries = None if call is None else _expiries(call)
    words = None
    if call is not None:
        words = call.name
        if expiries == 0.0:
            # A stop ends the write of which a part has been taken, and the program goes on with the rest.
            kept = call.arguments[:1] if call.name in (*READS, *WRITES) else call.arguments
            words += f"({', '.join(f'{each:#x}' for each in kept)})"
    return Standing(
        process.pid,
        thread.thread.tid,
        digest(thread_key(thread)),
        words,
        expiries,
        thread.sleeps,
        0 if process.stopped is None else _SLEEPS_OF_A_STOP,
        thread.cpu,
    )


def digest(key: object) -> str:
    """Equal where the key is, in every process: the hash of a text is another one in each."""
    return hashlib.sha256(repr(key).encode(errors="surrogatepass")).hexdigest()[:16]


def stands_still(before: Standing, now: Standing, seconds: float) -> bool:
    """Whether a thread has waited in one place all the time between two looks, ``seconds`` apart.

    One that a time limit wakes and that waits again stands still. Where the limit is not known, it must not have used
    more CPU time than such a thread does. A sleep is different: a thread that begins another sleep has gone on.
    """
    if (before.stack, before.call) != (now.stack, now.call):
        return False
    if before.cpu is not None and now.cpu is not None and now.cpu - before.cpu >= BUSY * seconds:
        return False
    if now.call in _SLEEPS and wakings(before, now):
        return False
    return not was_woken(before, now, seconds)


def was_woken(before: Standing, now: Standing, seconds: float) -> bool:
    """Whether something has woken a thread between two looks, neither these nor the time limit of its call. False where
    that is not known, of a thread that does not sleep too."""
    if before.call != now.call or now.expiries is None:
        return False
    explained = now.expiries * seconds + 1 if now.expiries else 0
    return wakings(before, now) > explained


def wakings(before: Standing, now: Standing) -> int:
    """How often a thread has woken between two looks, not counting these; 0 where that is not known."""
    if before.sleeps is None or now.sleeps is None:
        return 0
    return max(0, now.sleeps - before.sleeps - before.of_ours)


def slept(before: ThreadReport, now: ThreadReport) -> bool:
    """Whether a thread has gone to sleep between two looks, other than for a stop of ours."""
    return (
        before.sleeps is not None
        and now.sleeps is not None
        and now.sleeps - before.sleeps > _SLEEPS_OF_A_STOP
    )


def has_time_limit(call: SystemCall | None) -> bool:
    """Whether a call ends by itself where nothing comes; also of one of which that is not known."""
    return call is not None and _expiries(call) != 0.0


def time_limit(call: SystemCall | None) -> float | None:
    """Seconds after which a call ends by itself; None for one without a limit, and where that is not known."""
    expiries = None if call is None else _expiries(call)
    return 1 / expiries if expiries else None


def all_stand_still(before: Iterable[Standing], now: Iterable[Standing], seconds: float) -> bool:
    """Whether none of these threads has moved, as far as there is an earlier look at it."""
    earlier = {(each.pid, each.tid): each for each in before}
    pairs = [(earlier.get((each.pid, each.tid)), each) for each in now]
    return all(was is None or stands_still(was, one, seconds) for was, one in pairs)


def _expiries(call: SystemCall) -> float | None:
    """How often a second a call ends by its time limit where nothing comes."""
    if call.limit is not None:
        return 1 / call.limit
    arguments = dict(enumerate(call.arguments))
    if call.name in _WITHOUT_LIMIT or arguments.get(_POINTERS.get(call.name, -1)) == 0:
        return 0.0
    limit = arguments.get(_MILLISECONDS.get(call.name, -1))
    if limit is None:
        return None
    limit &= 0xFFFFFFFF
    return 0.0 if limit >> 31 else 1000 / max(limit, 1)
