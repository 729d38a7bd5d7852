"""The Python frames of a process that something else holds still, read from its memory by pystack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import TargetError
from ..model import PythonFrame


@dataclass(frozen=True)
class PythonThread:
    """The Python side of one thread: OS thread id, name, frames innermost first, and its part in the GIL."""

    tid: int
    name: str | None
    frames: tuple[PythonFrame, ...]
    holds_gil: bool | None
    collecting_garbage: bool | None


def read_python_threads(pid: int) -> list[PythonThread]:
    """Every Python thread of ``pid``. The caller holds the process still; nothing in it is run or stopped.

    Raises TargetError when there is no interpreter in the process yet, or none that can be read.
    """
    return [_thread(thread) for thread in _read(pid, with_locals=False)]


def _read(pid: int, with_locals: bool) -> list[Any]:
    from pystack.engine import NativeReportingMode, StackMethod, get_process_threads
    from pystack.errors import PystackError

    try:
        return list(
            get_process_threads(
                pid,
                stop_process=False,
                native_mode=NativeReportingMode.OFF,
                locals=with_locals,
                method=StackMethod.AUTO,
            )
        )
    except (PystackError, OSError, RuntimeError) as error:
        raise TargetError(f"the Python frames of process {pid} could not be read: {error}") from error


def read_python_locals(pid: int, tid: int) -> list[dict[str, str]]:
    """Arguments and locals of each Python frame of thread ``tid``, innermost first: name -> text.

    Raises TargetError as :func:`read_python_threads` does.
    """
    for thread in _read(pid, with_locals=True):
        if thread.tid == tid:
            rows = [frame for frame in _frames_of(thread) if not frame.is_shim]
            return [{**frame.arguments, **frame.locals} for frame in rows]
    return []


def preload() -> None:
    """Import what :func:`read_python_threads` needs (0.1 s), to be called while nothing waits for it."""
    import pystack.engine  # noqa: F401


def _thread(thread: Any) -> PythonThread:
    innermost_first = [_frame(row) for row in _frames_of(thread) if not row.is_shim]
    return PythonThread(
        tid=thread.tid,
        name=thread.name,
        frames=tuple(innermost_first),
        holds_gil=_flag(thread.holds_the_gil),
        collecting_garbage=_flag(thread.is_gc_collecting),
    )


def _frames_of(thread: Any) -> list[Any]:
    """pystack links a thread's frames from the outermost; ours begin with the innermost."""
    frames = []
    frame = thread.frame
    while frame is not None:
        frames.append(frame)
        frame = frame.next
    return frames[::-1]


def _frame(frame: Any) -> PythonFrame:
    code = frame.code
    return PythonFrame(
        function=code.scope,
        file=code.filename,
        line=code.location.lineno or None,
        entry=bool(frame.is_entry),
    )


def _flag(number: int) -> bool | None:
    """pystack's three values: 1 yes, 0 no, anything else not known."""
    return {0: False, 1: True}.get(int(number))
