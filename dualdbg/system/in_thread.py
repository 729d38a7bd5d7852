"""Work that blocks, in a thread: when the task that waits for it is cancelled, the processes that it started end."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from . import afterwards
from .shortage import no_threads

if TYPE_CHECKING:
    import asyncio  # else when it is used: a command that only starts processes runs without an event loop

T = TypeVar("T")

# Not the loop's own: to close that one, asyncio starts a thread, and there may be none left to start.
_THREADS = ThreadPoolExecutor(thread_name_prefix="dualdbg")


class _Work:
    """The processes of one call of :func:`in_thread`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._processes: set[int] = set()

    def begun(self, pid: int) -> None:
        with self._lock:
            self._processes.add(pid)
            if self._cancelled:
                _kill(pid)

    def over(self, pid: int) -> None:
        with self._lock:
            self._processes.discard(pid)

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            for pid in self._processes:
                _kill(pid)


_work: ContextVar[_Work | None] = ContextVar("work", default=None)


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call ``function`` in a thread. Its processes (:func:`started`) end when the caller is cancelled.

    Raises DualdbgError where no thread can be started.
    """
    import asyncio

    work = _Work()
    token = _work.set(work)
    try:
        return await begin(copy_context().run, function, *arguments)
    except asyncio.CancelledError:
        work.cancel()
        raise
    finally:
        _work.reset(token)


def begin(function: Callable[..., T], *arguments: object) -> asyncio.Future[T]:
    """Let a thread call ``function``; nobody has to wait for it. Raises DualdbgError where there is no thread."""
    import asyncio

    try:
        return asyncio.get_running_loop().run_in_executor(_THREADS, function, *arguments)
    except RuntimeError:  # all that Thread.start says
        raise no_threads() from None


@contextmanager
def started(command: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a new session. At the end of the block it is killed with its process group.

    The same happens at once when the work of this thread is cancelled, and a moment after our own end, whatever that
    is. ``options`` are those of Popen. Raises OSError, or TargetError.
    """
    work = _work.get()
    duty: afterwards.Duty | None = None
    process = subprocess.Popen(command, start_new_session=True, **options)
    with process:  # waits for it last of all: until then no other process gets its number
        try:
            duty = afterwards.end(process.pid)
            if work is not None:
                work.begun(process.pid)
            yield process
        finally:
            if work is not None:
                work.over(process.pid)
            if process.returncode is None:
                _kill(process.pid)
            if duty is not None:
                duty.drop()


def run(
    command: list[str], *, timeout: float, input: bytes | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Like subprocess.run, with a process from :func:`started`. Raises OSError or subprocess.TimeoutExpired."""
    stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
    with started(command, stdin=stdin, **options) as process:
        output, errors = process.communicate(input, timeout)
        return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended a moment ago
