"""Runs in the target, in CPython 3.10 and 3.11: keeps tracing off while nobody wants it.

pydevd looks at each function that begins, for half a second of `import torch`. It begins with the first breakpoint,
exception, step or pause that is wanted, in all threads at once. From 3.12 on pydevd hears of nothing before that
anyway, and later once of each function; before 3.10 a thread is traced with a helper thread, which a program may count.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Optional, Set

# What pydevd looks for beside breakpoints of lines: attributes of its debugger, by truth.
_BESIDE_LINES = (
    "break_on_caught_exceptions",
    "break_on_uncaught_exceptions",
    "break_on_user_uncaught_exceptions",
    "function_breakpoint_name_to_breakpoint",
    "has_plugin_line_breaks",
    "has_plugin_exception_breaks",
)
_NO_STEP = -1  # pydev_step_cmd of a thread that neither steps nor is to stop
_FIRST = (3, 10)  # from here on a thread is traced without a helper thread that is counted


class Tracing:
    """What ``debugger`` hears of, where its pydevd has the parts that are known here; see :func:`for_debugger`."""

    rests = False  # nobody wants anything: the program's threads are not traced

    def __init__(self, debugger: Any, pydevd: Any) -> None:
        self._debugger, self._pydevd = debugger, pydevd

    def _looks_beyond_lines(self) -> bool:
        return any(getattr(self._debugger, name) for name in _BESIDE_LINES)

    def rest(self, first: FrameType) -> bool:
        """Trace no thread until something is wanted. False where something is, or where that cannot be made up for.

        ``first`` is the program's first frame, which begins now.
        """
        import pydevd_tracing  # type: ignore[import-not-found]

        if not traces_other_threads() or not let_new_threads_rest(self._pydevd) or self._is_wanted():
            return False
        import pydevd_file_utils  # type: ignore[import-not-found]

        # pydevd keeps it: the program may go to another folder.
        pydevd_file_utils.get_abs_path_real_path_and_base_from_frame(first)
        self.rests = True
        self._pydevd.threading.settrace(None)
        pydevd_tracing.SetTrace(None)
        return True

    def is_alone(self) -> bool:
        """Whether the program has the current thread alone."""
        threading = self._pydevd.threading
        return not any(
            number != threading.get_ident() and is_traced(thread, threading)
            for number, thread in list(threading._active.items())
        )

    def _is_wanted(self) -> bool:
        debugger = self._debugger
        if self._looks_beyond_lines() or any(debugger.breakpoints.values()) or debugger.watches is not None:
            return True
        infos = (getattr(thread, "additional_info", None) for thread in self._pydevd.threading.enumerate())
        return any(info is not None and info.pydev_step_cmd != _NO_STEP for info in infos)

    def stirs(self) -> bool:
        """Something has changed. Whether the threads are, or have just been, traced."""
        if self.rests and self._is_wanted():
            self.begin()
        return not self.rests

    def begin(self) -> None:
        """Something is wanted: trace the threads of the program from now on, and what they are in the middle of."""
        if not self.rests:
            return
        import pydevd_tracing

        debugger, threading = self._debugger, self._pydevd.threading
        self.rests = False  # a thread that begins now traces itself
        threading.settrace(debugger.trace_dispatch)
        numbers = [
            number for number, thread in list(threading._active.items()) if is_traced(thread, threading)
        ]
        here = threading.get_ident()
        if here in numbers:
            debugger.enable_tracing(debugger.trace_dispatch)
        others = [number for number in numbers if number != here]
        if others:
            pydevd_tracing.set_trace_to_threads(debugger.trace_dispatch, others, create_dummy_thread=False)
        for number, frame in sys._current_frames().items():
            if number in numbers:
                debugger.set_trace_for_frame_and_parents(number, frame)


def is_traced(thread: Any, threading: Any) -> bool:
    """Whether pydevd traces such a thread from its start: no thread of its own, none that came without `threading`."""
    ours = getattr(thread, "is_pydev_daemon_thread", False) or getattr(thread, "pydev_do_not_trace", False)
    return not ours and not isinstance(thread, threading._DummyThread)


def traces_other_threads() -> bool:
    """Whether debugpy's library that does is there, and may be loaded; it is when it is needed."""
    import pydevd_tracing
    from _pydevd_bundle.pydevd_constants import (  # type: ignore[import-not-found]
        ENV_FALSE_LOWER_VALUES,
        LOAD_NATIVE_LIB_FLAG,
    )

    return LOAD_NATIVE_LIB_FLAG not in ENV_FALSE_LOWER_VALUES and bool(
        pydevd_tracing.get_python_helper_lib_filename()
    )


def let_new_threads_rest(pydevd: Any) -> bool:
    """A thread that begins while the debugger rests is not traced. Whether that could be arranged."""
    from _pydev_bundle import pydev_monkey  # type: ignore[import-not-found]

    usual: Optional[Callable[[Any], None]] = getattr(pydev_monkey, "_on_set_trace_for_new_thread", None)
    if usual is None:
        return False
    if getattr(usual, "dualdbg_rests", False):
        return True

    def begins(debugger: Any) -> None:
        """Called in the new thread."""
        tracing = getattr(debugger, "tracing", None)
        if (
            tracing is not None
            and tracing.rests
            and pydevd.threading.get_ident() not in dummies(pydevd.threading)
        ):
            return
        usual(debugger)

    begins.dualdbg_rests = True  # type: ignore[attr-defined]
    pydev_monkey._on_set_trace_for_new_thread = begins
    return True


def dummies(threading: Any) -> Set[int]:
    """Numbers of threads that `threading` has not started: they are not in its care when tracing begins."""
    return {
        number
        for number, thread in list(threading._active.items())
        if isinstance(thread, threading._DummyThread)
    }


def for_debugger(debugger: Any, pydevd: Any) -> Optional[Tracing]:
    """None before 3.10 and from 3.12 on, and where its pydevd is another than the known one: it does as always."""
    if pydevd.PYDEVD_USE_SYS_MONITORING or sys.version_info < _FIRST:
        return None
    known = (*_BESIDE_LINES, "breakpoints", "trace_dispatch", "set_tracing_for_untraced_contexts")
    return Tracing(debugger, pydevd) if all(hasattr(debugger, name) for name in known) else None
