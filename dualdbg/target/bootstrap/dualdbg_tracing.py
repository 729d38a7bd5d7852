"""Runs in the target, in CPython 3.10 and 3.11: keeps tracing off while nobody wants it.

pydevd looks at each function that begins, for half a second of `import torch`. It begins with the first breakpoint,
exception, step or pause that is wanted, in all threads at once. From 3.12 on pydevd hears of nothing before that
anyway, and later once of each function. Up to 3.9 the interpreter counts its traced threads besides.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import deque, namedtuple
from itertools import accumulate, chain, repeat, takewhile, tee
from operator import add, attrgetter
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Iterator, Optional, Tuple

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
_VERSIONS = (3, 10), (3, 12)  # the first, and the first one after them
_WORD = 8  # bytes
_WORDS = 20  # of PyThreadState, among which the trace function is
_ON = 255  # of the frame's use_tracing, as PyEval_SetTrace of 3.11 sets it; 3.10 asks whether it is 0


class Tracing:
    """What ``debugger`` hears of, where its pydevd has the parts that are known here; see :func:`for_debugger`."""

    def __init__(
        self, debugger: Any, pydevd: Any, threads: Threads, look_at_frames: Callable[[], None]
    ) -> None:
        """``look_at_frames`` has pydevd look at the functions that all threads are in."""
        self.rests = False  # a thread that begins is not traced
        self._has_begun = True  # all that have begun are
        self._beginning: Any = set()  # numbers of the threads that see to it
        self._look_at_frames = look_at_frames
        self._debugger, self._pydevd, self._threads = debugger, pydevd, threads
        self._folder = ""

    def rest(self, first: FrameType) -> bool:
        """Trace no thread until something is wanted. False where something is.

        ``first`` is the program's first frame, which begins now in the current thread.
        """
        import pydevd_file_utils  # type: ignore[import-not-found]

        if not let_new_threads_rest() or self._is_wanted():
            return False
        # pydevd keeps it: the program may go to another folder.
        pydevd_file_utils.get_abs_path_real_path_and_base_from_frame(first)
        self._folder = os.getcwd()
        self._pydevd.threading.settrace(None)
        plain_settrace()(None)
        self._has_begun = False
        self.rests = True
        # The session may want something from here on, and pydevd's reader asks `stirs`; it was not asked before.
        if self._is_wanted():
            self.begin()
        return not self._has_begun

    def _is_wanted(self) -> bool:
        debugger = self._debugger
        if any(getattr(debugger, name) for name in _BESIDE_LINES):
            return True
        if any(debugger.breakpoints.values()) or debugger.watches is not None:
            return True
        infos = (getattr(thread, "additional_info", None) for thread in self._pydevd.threading.enumerate())
        return any(info is not None and info.pydev_step_cmd != _NO_STEP for info in infos)

    def stirs(self) -> bool:
        """Something has changed. Whether the threads are, or have just been, traced."""
        if not self._has_begun and self._is_wanted():
            self.begin()
        return self._has_begun

    def begin(self) -> None:
        """Something is wanted: trace the threads of the program from now on, and what they are in the middle of.

        Two threads may do so at once: each goes on only when all is traced.
        """
        here = self._pydevd.threading.get_ident()
        if self._has_begun or here in self._beginning:
            return
        self._beginning.add(here)
        debugger = self._debugger
        self.rests = False  # a thread that begins after this traces itself, those before it are met below
        self._pydevd.threading.settrace(debugger.trace_dispatch)
        self._remember_names()
        self._threads.trace(debugger.trace_dispatch)
        self._look_at_frames()
        self._has_begun = True
        self._beginning.discard(here)

    def _remember_names(self) -> None:
        """A file that ran under a relative name meant the folder in which the program began.

        pydevd looks where the program is now, which may be another folder, and keeps what it finds.
        """
        import pydevd_file_utils

        try:
            if os.getcwd() == self._folder:
                return
        except OSError:
            pass  # the folder is not there any more
        frames = list(sys._current_frames().values())
        codes = {one.__code__ for one in gc.get_objects() if type(one) is FunctionType}
        for frame in frames:
            while frame is not None:
                codes.add(frame.f_code)
                frame = frame.f_back  # type: ignore[assignment]
        for name in {code.co_filename for code in codes}:
            path = os.path.join(self._folder, name)
            if path != name and not name.startswith("<") and os.path.exists(path):
                kept = pydevd_file_utils.get_abs_path_real_path_and_base_from_file(path)
                pydevd_file_utils.NORM_PATHS_AND_BASE_CONTAINER[name] = kept


class Threads:
    """Sets the trace function of every thread of the interpreter at once: no thread can begin or end meanwhile.

    PyEval_SetTrace is for the current thread, and what is behind it asks audit hooks, which are Python code: another
    thread could have its turn there, and end. So the members of PyThreadState are written that it writes.
    """

    def __init__(self, ctypes: Any) -> None:
        """Raises AttributeError or ValueError where the interpreter is another than the known ones."""
        pointer = ctypes.c_void_p

        def function(name: str, *types: Any) -> Any:
            return ctypes.PYFUNCTYPE(*types)((name, ctypes.pythonapi))  # it keeps the GIL

        own = function("PyThreadState_Get", pointer)()
        self._interpreter = function("PyThreadState_GetInterpreter", pointer, pointer)(own)
        self._newest = function("PyInterpreterState_ThreadHead", pointer, pointer)
        self._next = function("PyThreadState_Next", pointer, pointer)
        self._refer = function("Py_IncRef", None, ctypes.py_object)
        copy_types = pointer, pointer, pointer, ctypes.c_size_t
        self._copy = ctypes.PYFUNCTYPE(*copy_types)(address_of(ctypes.memmove, ctypes))
        self._pointer, self._ctypes = pointer, ctypes
        self._members = members(own, ctypes)

    def trace(self, function: Callable[..., Any]) -> None:
        """``function`` is the trace function of all threads."""
        collects = gc.isenabled()
        gc.disable()  # a finalizer is Python code
        try:
            self._trace(function)
        finally:
            if collects:
                gc.enable()

    def _trace(self, function: Callable[..., Any]) -> None:
        at, ctypes = self._members, self._ctypes
        object_word = self._pointer(id(function))
        code_word = self._pointer(at.calls_python)
        on = ctypes.c_ubyte(_ON)
        states = tee(self._states(), 3)
        objects, functions = map(add, states[0], repeat(at.object)), map(add, states[1], repeat(at.function))
        steps = zip(
            map(self._copy, objects, repeat(ctypes.addressof(object_word)), repeat(_WORD)),
            map(self._copy, functions, repeat(ctypes.addressof(code_word)), repeat(_WORD)),
            map(self._copy, self._frames_of(states[2]), repeat(ctypes.addressof(on)), repeat(1)),
            map(self._refer, repeat(function)),  # each thread has a reference
            strict=False,
        )
        # Nothing in this line runs Python code, so the current thread keeps the GIL: every thread in the list is there
        # until the end, and one that is being started is in the list already.
        deque(steps, maxlen=0)

    def _states(self) -> Iterator[int]:
        """The threads' states, the newest first. Nothing of it is looked at before it is asked for."""
        first = map(self._newest, [self._interpreter])
        return takewhile(bool, accumulate(chain(first, repeat(0)), self._next))

    def _frames_of(self, states: Iterator[int]) -> Iterator[int]:
        """Where each thread's evaluation loop looks whether it is traced."""
        words = map(self._pointer.from_address, map(add, states, repeat(self._members.frame)))
        return map(attrgetter("value"), words)


# Where members of PyThreadState are, in bytes, and the function that calls a trace function in Python.
Members = namedtuple("Members", "object function frame calls_python")


def members(state: int, ctypes: Any) -> Members:
    """Those of this interpreter, tried in the current thread, whose ``state`` is there.

    The four members for profiling and tracing follow the evaluation loop's frame: two functions, then what they are
    given (cpython/pystate.h, 3.10 and 3.11). Raises ValueError where they do not.
    """

    def mark(frame: Any, event: str, argument: Any) -> None:
        """Traces nothing."""

    words = (ctypes.c_void_p * _WORDS).from_address(state)
    settrace, earlier = plain_settrace(), sys.gettrace()
    settrace(None)
    try:
        before = list(words)
        settrace(mark)
        marked = list(words)
        at = [word or 0 for word in marked].index(id(mark))
        is_on = ctypes.c_ubyte.from_address(marked[at - 4] or 0).value if marked[at - 4] else 0
        settrace(None)
        is_off = ctypes.c_ubyte.from_address(marked[at - 4]).value == 0 if is_on else False
    finally:
        settrace(earlier)
    changed = [index for index in range(_WORDS) if before[index] != marked[index]]
    if changed != [at - 2, at] or before[at] or before[at - 2] or not is_on or not is_off:
        raise ValueError("the interpreter keeps trace functions elsewhere")
    return Members(at * _WORD, (at - 2) * _WORD, (at - 4) * _WORD, int(marked[at - 2] or 0))


def address_of(function: Any, ctypes: Any) -> int:
    """Where the code of a function of ctypes' is."""
    return int(ctypes.cast(function, ctypes.c_void_p).value)


def plain_settrace() -> Any:
    """The interpreter's own function: pydevd's warns, and may load a library."""
    import pydevd_tracing  # type: ignore[import-not-found]

    return pydevd_tracing.TracingFunctionHolder._original_tracing or sys.settrace


def let_new_threads_rest() -> bool:
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
        if tracing is None or not tracing.rests:
            usual(debugger)

    begins.dualdbg_rests = True  # type: ignore[attr-defined]
    pydev_monkey._on_set_trace_for_new_thread = begins
    return True


def for_debugger(debugger: Any, pydevd: Any, look_at_frames: Callable[[], None]) -> Optional[Tracing]:
    """None in another Python, and where its pydevd is another than the known one: it does as always."""
    if pydevd.PYDEVD_USE_SYS_MONITORING or not _VERSIONS[0] <= sys.version_info[:2] < _VERSIONS[1]:
        return None
    known: Tuple[str, ...] = (
        *_BESIDE_LINES,
        "breakpoints",
        "trace_dispatch",
        "set_tracing_for_untraced_contexts",
    )
    if not all(hasattr(debugger, name) for name in known):
        return None
    try:
        import ctypes

        return Tracing(debugger, pydevd, Threads(ctypes), look_at_frames)
    except (ImportError, AttributeError, ValueError):  # an interpreter without it, or of another make
        return None
