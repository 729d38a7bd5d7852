"""Has the interpreter of a stopped process run a text, by an entry in its own queue of pending calls, or by PEP 768.

Nothing is executed where the process stands. The entry is written into memory, and the interpreter takes it at its
next safe point, with the GIL, as it takes those of ``Py_AddPendingCall`` (Include/ceval.h, Python/ceval_gil.c). Up to
3.11 that is the next safe point of the main thread, in 3.12 and 3.13 that of any thread. 3.14 has an interface for
exactly this, which is used there: a file that one thread is asked to run at its next safe point (PEP 768, and
_PyRemoteDebuggerSupport in Include/cpython/pystate.h).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ...errors import TargetError
from ...snapshot.cpython.layout import PythonLayout, RemoteDebugging
from ...snapshot.linux.memory import Memory


@dataclass(frozen=True)
class Write:
    """Bytes to be put at an address while the process stands still."""

    address: int
    data: bytes


class QueueBusy(TargetError):
    """A thread is at the queue just now. Try again after the process has run for a moment."""


@dataclass(frozen=True)
class _Queue:
    """Where ``struct _pending_calls`` and the flag are that makes the evaluation loop look at it.

    ``start`` is an offset in the interpreter state (3.8: in the runtime). The numbers were printed by a C program
    that includes the headers of each version.
    """

    start: int
    breaker: int
    lock: int = 0
    calls_to_do: int = 8
    calls: int = 16
    first: int = 528
    last: int = 532


_ENTRIES = 32
_QUEUES = {
    (3, 8): _Queue(600, 592, lock=8, calls_to_do=16, calls=24, first=536, last=540),
    (3, 9): _Queue(80, 72),
    (3, 10): _Queue(80, 68),
    (3, 11): _Queue(112, 100),
    (3, 12): _Queue(400, 368, lock=8, calls_to_do=16, calls=24, first=536, last=540),
}

# 3.13, free-threaded or not: a counter, entries with flags, a flag word in every thread state instead of one for all.
_START_3_13, _MUTEX, _COUNT, _MAX, _CALLS, _NEXT, _ENTRIES_3_13 = 32, 8, 12, 16, 24, 7228, 300
_BREAKER_3_13, _CALLS_TO_DO = 24, 1 << 2
_PLEASE_STOP = 1 << 5  # _PY_EVAL_PLEASE_STOP_BIT (Include/internal/pycore_ceval.h)


def plan(memory: Memory, layout: PythonLayout, runtime: int, function: int, argument: int) -> list[Write]:
    """What to write so that ``function(argument)`` is called at a safe point of the interpreter at ``runtime``.

    ``function`` is the address of an ``int (*)(void *)``. The process stands still. Raises QueueBusy, or
    TargetError for a version without such a queue.
    """
    interpreter = main_interpreter(memory, layout, runtime)
    if layout.version in _QUEUES:
        return _plan_by_table(memory, layout, runtime, interpreter, function, argument)
    if layout.version == (3, 13):
        return _plan_3_13(memory, layout, interpreter, function, argument)
    raise TargetError(f"Python {layout.version[0]}.{layout.version[1]} has no queue that dualdbg knows")


def main_interpreter(memory: Memory, layout: PythonLayout, runtime: int) -> int:
    """The address of the main interpreter's state."""
    interpreter = memory.u64(runtime + layout.interpreters_head)
    while (following := memory.u64(interpreter + layout.interpreter_next)) != 0:
        interpreter = following  # the newest interpreter is first in the list, the main one last
    return interpreter


def request_script(memory: Memory, remote: RemoteDebugging, thread: int, path: str) -> list[Write]:
    """What to write so that the thread of the thread state ``thread`` runs the file ``path`` at its next safe point.

    Raises QueueBusy while another debugger's request waits, or TargetError for a path that is too long.
    """
    if memory.i32(thread + remote.pending_call):
        raise QueueBusy("another debugger's script waits to be run")
    data = path.encode() + b"\0"
    if len(data) > remote.script_path_size:
        raise TargetError(
            f"{path} is too long for the interpreter, which takes {remote.script_path_size - 1} bytes",
            "TMPDIR=DIR names a folder with a shorter path",
        )
    breaker = memory.u64(thread + remote.breaker)
    return [
        Write(thread + remote.script_path, data),
        Write(thread + remote.pending_call, struct.pack("<i", 1)),
        Write(thread + remote.breaker, struct.pack("<Q", breaker | _PLEASE_STOP)),
    ]


def _plan_by_table(
    memory: Memory, layout: PythonLayout, runtime: int, interpreter: int, function: int, argument: int
) -> list[Write]:
    queue = _QUEUES[layout.version]
    base = runtime if layout.version == (3, 8) else interpreter
    at = base + queue.start
    lock = memory.u64(at + queue.lock)
    # A PyThread_type_lock on Linux is a sem_t, whose lowest word is its value: 0 while it is held.
    if lock and memory.u32(lock) == 0:
        raise QueueBusy("a thread is adding a call of its own")
    first, last = memory.i32(at + queue.first), memory.i32(at + queue.last)
    following = (last + 1) % _ENTRIES
    if following == first:
        raise QueueBusy("the interpreter's queue of calls is full")
    return [
        Write(at + queue.calls + 16 * last, struct.pack("<QQ", function, argument)),
        Write(at + queue.last, struct.pack("<i", following)),
        Write(at + queue.calls_to_do, struct.pack("<i", 1)),
        Write(base + queue.breaker, struct.pack("<i", memory.i32(base + queue.breaker) | 1)),
    ]


def _plan_3_13(
    memory: Memory, layout: PythonLayout, interpreter: int, function: int, argument: int
) -> list[Write]:
    at = interpreter + _START_3_13
    if memory.u8(at + _MUTEX):
        raise QueueBusy("a thread is adding a call of its own")
    count, limit, following = memory.i32(at + _COUNT), memory.i32(at + _MAX), memory.i32(at + _NEXT)
    if count >= limit:
        raise QueueBusy("the interpreter's queue of calls is full")
    writes = [
        Write(at + _CALLS + 24 * following, struct.pack("<QQQ", function, argument, 0)),
        Write(at + _NEXT, struct.pack("<i", (following + 1) % _ENTRIES_3_13)),
        Write(at + _COUNT, struct.pack("<i", count + 1)),
    ]
    for thread in threads_of(memory, layout, interpreter):
        flags = memory.u64(thread + _BREAKER_3_13)
        writes.append(Write(thread + _BREAKER_3_13, struct.pack("<Q", flags | _CALLS_TO_DO)))
    return writes


def threads_of(memory: Memory, layout: PythonLayout, interpreter: int) -> list[int]:
    """The addresses of the thread states of an interpreter state."""
    threads: list[int] = []
    thread = memory.u64(interpreter + layout.interpreter_threads)
    while thread and len(threads) < 100_000:
        threads.append(thread)
        thread = memory.u64(thread + layout.thread_next)
    return threads
