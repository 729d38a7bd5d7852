"""Runs in the target: up to 3.11, what watchpoints hear of lines: trace functions in front of pydevd's.

They are there while something is watched. Each goes away by itself when it is called afterwards. Steps are in front of
pydevd in one frame (dualdbg_steps.py), behind watchpoints.
"""

from __future__ import annotations

import ctypes
import opcode
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Set

_EVENTS = ("call", "exception", "line", "return")  # by PyTrace_CALL, ... (CPython, Include/cpython/pystate.h)
_PAUSES = 0x2A0  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR (inspect.py)


class Traced:
    """Puts trace functions before pydevd's, and keeps them there."""

    def __init__(self, watches: Any, debugger: Any) -> None:
        self.watches = watches
        self._debugger = debugger
        self._everywhere = False

    def hear(self, everywhere: bool, lines: Set[CodeType], ends: Set[CodeType]) -> None:
        """Hear of the frames that are of interest now."""
        began, self._everywhere = everywhere and not self._everywhere, everywhere
        if self.watches.is_idle:
            return
        self.come_first(sys._getframe(1))
        if began or ends:
            self._in_all_threads()

    def _in_all_threads(self) -> None:
        import pydevd_tracing  # type: ignore[import-not-found]

        known: Any = threading._active  # type: ignore[attr-defined]
        others = [
            number
            for number in sys._current_frames()
            if number != threading.get_ident()
            and not getattr(known.get(number), "is_pydev_daemon_thread", False)
        ]
        if others:
            front = Thread(self, self._debugger.trace_dispatch)
            pydevd_tracing.set_trace_to_threads(front, others, create_dummy_thread=False)
        for number, frame in sys._current_frames().items():
            if number in others:
                self.cover(frame)

    def come_first(self, frame: FrameType) -> None:
        """Before what pydevd has set: for what the current thread calls from now on, and for these frames."""
        if self.watches.is_idle:
            return
        inner: Any = sys.gettrace()
        if type(inner) is Ahead:
            at_next_event(self.come_first)
        elif inner is not None and type(inner) is not Thread:
            raw_settrace()(Thread(self, inner))
        self.cover(frame)

    def goes_on(self) -> None:
        """A thread that pydevd has stopped is about to go on: hear of its next event, whatever that is.

        pydevd's trace function is still under way in it. What that returns becomes the trace function of the frame, and
        so one that was put there now would be lost.
        """
        frame: Any = sys._getframe(1)
        while frame is not None and self._debugger.get_file_type(frame) is not None:
            if frame.f_code is Frame.__call__.__code__:
                return
            frame = frame.f_back
        if not self.watches.is_idle:
            at_next_event(self.come_first)

    def cover(self, frame: Any) -> None:
        """Hear of the lines of these frames: this one and those that have called it."""
        while frame is not None:
            if type(frame.f_trace) is not Frame and self.watches.concerns(frame):
                frame.f_trace = Frame(self, frame.f_trace)
            frame = frame.f_back


class Thread:
    """The trace function of a thread. ``inner`` is pydevd's."""

    def __init__(self, traced: Traced, inner: Any) -> None:
        self.traced, self._inner = traced, inner

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        watches = self.traced.watches
        found = self._inner(frame, event, argument)
        if watches.is_idle:
            now: Any = sys.gettrace()
            if now is self:
                raw_settrace()(self._inner)
            return found
        if not watches.concerns(frame):
            return found
        front = Frame(self.traced, found)
        if frame.f_lasti >= 0 and frame.f_code.co_flags & _PAUSES:
            watches.happens(frame, "resume", frame.f_lineno)
        return front


class Frame:
    """The trace function of a frame. ``inner`` is pydevd's, or None where pydevd does not look at the frame."""

    def __init__(self, traced: Traced, inner: Any) -> None:
        self._traced, self.inner = traced, inner
        self._raised = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        watches = self._traced.watches
        if watches.is_idle:
            frame.f_trace = self.inner
            return None if self.inner is None else self.inner(frame, event, argument)
        if event == "exception":
            self._raised = True
        elif event == "line":
            self._raised = False
            watches.happens(frame, "line", frame.f_lineno)
        elif event == "return":
            watches.happens(frame, self._way_out(frame, argument), frame.f_lineno)
        now: Any = frame.f_trace
        inner = now.inner if type(now) is Frame else now  # a step that begins at the stop may have changed it
        if inner is not None:
            found = inner(frame, event, argument)
            inner = inner if found is None else found
        self.inner = inner.inner if type(inner) is Frame else inner
        return self

    def _way_out(self, frame: FrameType, value: Any) -> str:
        """How a frame is left. The interpreter tells an end by an exception, and a pause, like a return."""
        if opcode.opname[frame.f_code.co_code[frame.f_lasti]] == "RETURN_VALUE":
            return "return"
        if not frame.f_code.co_flags & _PAUSES or (self._raised and value is None):
            return "raise"
        return "pause"


class Ahead:
    """The trace function of a thread until its next event. ``actions`` are done then, with the frame of that."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.actions = inner, []  # type: Any, Any

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        """The program has put it back: it is too late for the actions."""
        raw_settrace()(self.inner)
        return self.inner(frame, event, argument)


def at_next_event(action: Any) -> None:
    """Have ``action`` done in the current thread, if that is traced, before pydevd hears of its next event."""
    now: Any = sys.gettrace()
    ahead = now if type(now) is Ahead else Ahead(now)
    ahead.actions.append(action)
    if now is not ahead and now is not None:
        ctypes.pythonapi.PyEval_SetTrace(_FIRST, ctypes.py_object(ahead))


def _first_event(ahead: Ahead, frame: FrameType, what: int, argument: Any) -> int:
    """Called by the interpreter in the place of its own function that calls trace functions."""
    raw_settrace()(ahead.inner)
    for action in ahead.actions:
        action(frame)
    event = _EVENTS[what]
    trace: Any = sys.gettrace() if event == "call" else frame.f_trace
    if trace is not None:
        found = trace(frame, event, ctypes.cast(argument, ctypes.py_object).value if argument else None)
        if found is not None:
            frame.f_trace = found
    return 0


_FIRST = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p)(
    _first_event
)


def raw_settrace() -> Any:
    """The interpreter's own function, not pydevd's replacement, which warns."""
    import pydevd_tracing

    return pydevd_tracing.TracingFunctionHolder._original_tracing or sys.settrace
