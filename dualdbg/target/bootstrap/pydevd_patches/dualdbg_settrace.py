"""pydevd ends a new thread of the program by RuntimeError if another one is in sys.settrace, up to Python 3.11.

Runs in the target: tries again.

CPython 3.11 refuses that with a RuntimeError, for one flag serves all threads (``_PyEval_SetTrace`` in ceval.c): an
audit hook of the program is asked meanwhile, and lets other threads run, as all Python code does. A thread that was
beginning ended by that error before it had run, and who had started it waited for ever.
"""

from __future__ import annotations

from _thread import allocate_lock
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PAUSE = 0.001  # seconds
_LONGEST = 10.0  # seconds; the hook of the other thread may wait for this one


class Waiting:
    """``settrace``, called again until no other thread is in it."""

    def __init__(self, settrace: Any) -> None:
        self.settrace = settrace
        self._never = allocate_lock()
        self._never.acquire()

    def __call__(self, function: Any) -> None:
        end = monotonic() + _LONGEST
        while True:
            try:
                self.settrace(function)
                return
            except RuntimeError as error:
                raised: Any = error.__traceback__
                # What the program's hook raises has a frame of the hook.
                if raised.tb_next is not None or monotonic() > end:
                    raise
            self._never.acquire(True, _PAUSE)  # not time.sleep, which the program may have replaced (gevent)


def install() -> None:
    """Have pydevd keep a function that waits where it keeps the interpreter's, in whose place it puts its own."""
    import pydevd_tracing  # type: ignore[import-not-found]

    holder = pydevd_tracing.TracingFunctionHolder
    replace, restore = pydevd_tracing.replace_sys_set_trace_func, pydevd_tracing.restore_sys_set_trace_func

    def replace_sys_set_trace_func() -> None:
        replace()
        if not hasattr(holder._original_tracing, "settrace"):
            holder._original_tracing = Waiting(holder._original_tracing)

    def restore_sys_set_trace_func() -> None:
        holder._original_tracing = getattr(holder._original_tracing, "settrace", holder._original_tracing)
        restore()

    pydevd_tracing.replace_sys_set_trace_func = replace_sys_set_trace_func
    pydevd_tracing.restore_sys_set_trace_func = restore_sys_set_trace_func
