"""The state of session and target in words: the status line. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from ...known.short_names import short_function
from ...model import Exit, Frame, Language, NativeFrame, PythonFrame, Reason, Stack, State, Stop, Thread

_REASONS = {
    Reason.ENTRY: "start of the program",
    Reason.STEP: "step",
    Reason.GOTO: "moved",
    Reason.PAUSE: "paused",
    Reason.EXCEPTION: "exception",
    Reason.SIGNAL: "signal",
    Reason.BREAKPOINT: "breakpoint",
}


def status(
    state: State, stop: Stop | None, exit: Exit | None, thread: Thread | None, has_python: bool, room: int
) -> str:
    """One line. ``thread`` is what is known of the stop's thread so far, ``has_python`` whether debugpy is there."""
    if stop is None or state not in (State.PYTHON_STOPPED, State.NATIVE_STOPPED):
        return without_stop(state, exit)
    native = stop.origin is Language.NATIVE
    in_python = isinstance(stop.frame, PythonFrame)
    parts = [_why(stop), _thread(thread or stop.thread)]
    if native and has_python:
        parts.append("gdb holds it" if in_python else "debugpy waits")
    start = "stopped in Python at " if in_python or not native else "stopped natively in "
    where = _place(stop.frame, max(room - len(start) - len(", ".join(parts)) - 2, 24))
    while len(parts) > 1 and len(start) + len(where) + sum(len(part) + 2 for part in parts) > room:
        parts.pop()
    return f"{start}{where}, {', '.join(parts)}"


def without_stop(state: State, exit: Exit | None) -> str:
    if state is State.EXITED or state is State.LOST:
        lost = "gdb is gone; " if state is State.LOST else ""
        if exit is None:
            return f"{lost}the target is lost"
        return f"{lost}the program {'ended; its status is not known' if exit == Exit() else exit.in_words()}"
    if state is State.DETACHED:
        return "detached: the program runs on without us"
    if state is State.STARTING:
        return "starting"
    return "running: Ctrl-C pauses"


def _why(stop: Stop) -> str:
    if stop.breakpoints:
        plural = "s" if len(stop.breakpoints) > 1 else ""
        why = f"breakpoint{plural} {', '.join(map(str, stop.breakpoints))}"
    else:
        why = _REASONS[stop.reason]
    if stop.description and stop.reason in (Reason.SIGNAL, Reason.EXCEPTION):
        return stop.description
    return f"{why} ({stop.description})" if stop.description else why


def _thread(thread: Thread) -> str:
    gil = ""
    if thread.holds_gil:
        gil = " holds the GIL"
    elif thread.waits_for_gil:
        gil = " waits for the GIL"
    elif thread.holds_gil is False:
        gil = " holds no GIL"
    return f"thread {thread.tid}{gil}"


def _place(frame: Frame | None, room: int) -> str:
    if frame is None:
        return "an unknown place"
    if isinstance(frame, NativeFrame):
        return short_function(frame.label, room)
    return f"{PurePath(frame.file or '?').name}:{frame.line}"


def stack_note(stack: Stack | None, selected: int) -> str:
    """The count beside the title of the stack."""
    if stack is None:
        return ""
    return f"{selected + 1}/{len(stack.visible())}"


def thread_note(threads: Sequence[Thread]) -> str:
    """The count beside the title of the threads, and the thread id of the holder of the GIL."""
    holder = next((thread.tid for thread in threads if thread.holds_gil), None)
    return f"{len(threads)}" + (f", GIL: {holder}" if holder is not None else "")
