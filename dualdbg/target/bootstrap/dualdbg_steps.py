"""Runs in the target: keeps the steps that pydevd loses.

A step in a function that an exception leaves ends in the caller, on the line that called. Up to CPython 3.11 pydevd
takes such an end of a generator or a coroutine for a pause, on any line but one that returns (trace_dispatch in
pydevd_frame.py); from 3.12 on it looks at no end by an exception (_unwind_event in _pydevd_sys_monitoring.py).

A step waits in a queue for its thread, which may be busy with an expression. What lets the thread run meanwhile comes
first, and pydevd would begin the step at the next stop, which would be lost.

A step into a generator that goes on ends there: from 3.12 on pydevd looks at functions that begin alone
(update_monitor_events has no callback for PY_RESUME).
"""

from __future__ import annotations

import opcode
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, List, Optional, Set

_PAUSES = 0xA0  # CO_GENERATOR, CO_COROUTINE (inspect.py)
_OUT = (109, 160)  # CMD_STEP_RETURN and CMD_STEP_RETURN_MY_CODE (pydevd_comm_constants.py)
_STEPS = ("internal_step_in_thread", "internal_smart_step_into")  # functions of pydevd_comm.py
_RETURNED = "__pydevd_ret_val_dict"  # pydevd's variable with what functions have returned to a frame
_TOOLS = (4, 3, 5)  # numbers of sys.monitoring that no kind of tool has to itself


def watch(debugger: Any, pydevd: Any, left: FrameType) -> None:
    """A step may begin in ``left``, the innermost function of the current thread that the user sees."""
    thread = pydevd.threading.current_thread()
    info = getattr(thread, "additional_info", None)  # pydevd's own threads have none
    if info is None or info.pydev_step_cmd == -1 or debugger.pydb_disposed:
        return
    if info.pydev_step_cmd in _OUT and left.f_back is not None:
        earlier = left.f_back.f_locals.get(_RETURNED)
        if earlier:
            earlier.clear()  # what is there when the step has ended, the function has just returned
    if sys.version_info >= (3, 12):
        monitored.watch(debugger, pydevd, thread)
    elif info.pydev_step_stop is left and left.f_code.co_flags & _PAUSES:
        caller = visible_caller(debugger, left)
        if caller is not None and caller.f_trace is not None:
            caller.f_trace = Caller(debugger, thread, caller.f_trace)


def returned() -> Any:
    """What the function has returned that the step out has left for the frame in which this is evaluated.

    Raises LookupError where it has returned nothing to that frame.
    """
    found = list(sys._getframe(1).f_locals.get(_RETURNED, {}).values())
    if len(found) == 1 and (found[0] is not None or _is_at_return(sys._getframe(1))):
        return found[0]
    raise LookupError("nothing was returned")


def _is_at_return(frame: FrameType) -> bool:
    """Whether the function returns that is about to be left. Up to 3.11 pydevd is told None of one that raises, too.

    ``frame`` is a debugger's that the function has called.
    """
    if sys.version_info >= (3, 12):
        return True
    left = sys.modules["pydevd"].dualdbg_presentation.beside("dualdbg_probe").users_frame(frame)
    return left is not None and opcode.opname[left.f_code.co_code[left.f_lasti]] == "RETURN_VALUE"


def visible_caller(debugger: Any, frame: FrameType) -> Optional[FrameType]:
    """The innermost caller that the user sees: what is hidden has no stops (as _get_unfiltered_back_frame)."""
    caller = frame.f_back
    while caller is not None and is_hidden(debugger, caller):
        caller = caller.f_back
    return caller


def is_hidden(debugger: Any, frame: FrameType) -> bool:
    """Whether pydevd hides a frame from the user: its own, and libraries where they are left out."""
    if debugger.get_file_type(frame) is not None:  # pydevd's, or a part of the standard library that it hides
        return True
    hides = debugger.is_files_filter_enabled
    return bool(hides and debugger.apply_files_filter(frame, frame.f_code.co_filename, False))


def resume_unless_stopped(debugger: Any, thread_id: str) -> bool:
    """All threads run, and a step of this thread is over, unless it or another has stopped since the step began.

    Returns whether they run. A stop that is on its way to the user is not lost by it.
    """
    from _pydevd_bundle import pydevd_thread_lifecycle as lifecycle  # type: ignore[import-not-found]
    from _pydevd_bundle.pydevd_constants import STATE_SUSPEND  # type: ignore[import-not-found]

    thread = lifecycle.pydevd_find_thread_by_id(thread_id)
    info = getattr(thread, "additional_info", None)  # it may have ended
    with lifecycle.suspend_threads_lock:  # every stop marks all threads under it
        if info is not None and info.pydev_state == STATE_SUSPEND and not _waiting(debugger, thread_id):
            return False
        lifecycle.resume_threads("*")
    return True


def forget_waiting(debugger: Any, pydevd: Any, thread: Any) -> None:
    """The current thread goes on from a stop: no step waits for it any more. Called in that thread."""
    thread_id = pydevd.get_thread_id(thread)
    steps = _waiting(debugger, thread_id)
    if steps:
        queue, _ = debugger.get_internal_queue_and_event(thread_id)
        with queue.mutex:
            for step in steps:
                queue.queue.remove(step)


def _waiting(debugger: Any, thread_id: str) -> List[Any]:
    """The steps that a thread has not begun yet."""
    queue, _ = debugger.get_internal_queue_and_event(thread_id)
    with queue.mutex:
        commands = list(queue.queue)
    return [command for command in commands if _name(command) in _STEPS]


def _name(command: Any) -> str:
    """The function that a command of pydevd's queue calls; "" for a command with a class of its own."""
    return str(getattr(getattr(command, "method", None), "__name__", ""))


def stop(debugger: Any, thread: Any, frame: FrameType) -> None:
    """The step ends in ``frame``."""
    info = thread.additional_info
    debugger.set_suspend(thread, info.pydev_step_cmd, original_step_cmd=info.pydev_original_step_cmd)
    debugger.do_wait_suspend(thread, frame, "return", None)


class Caller:
    """Up to 3.11: the trace function of a generator's caller for the time of the step."""

    def __init__(self, debugger: Any, thread: Any, trace: Any) -> None:
        self._debugger = debugger
        self._thread = thread
        self._trace = trace

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        info = self._thread.additional_info
        left = info.pydev_step_stop
        is_over = left is None or not left.f_code.co_flags & _PAUSES
        if is_over or self._debugger.pydb_disposed:
            return self._trace(frame, event, argument)
        if event != "exception" or not _has_passed(argument[2], left):
            self._trace(frame, event, argument)
            return self
        info.is_tracing += 1
        try:
            stop(self._debugger, self._thread, frame)
        finally:
            info.is_tracing -= 1
        return frame.f_trace


def _has_passed(trace: Any, left: FrameType) -> bool:
    """Whether an exception has left this frame, by its traceback."""
    while trace is not None and trace.tb_frame is not left:
        trace = trace.tb_next
    return trace is not None


class Monitored:
    """From 3.12 on: hears of functions that an exception leaves and of generators that go on, while there are steps."""

    def __init__(self) -> None:
        self._debugger: Any = None
        self._pydevd: Any = None
        self._stepping: Set[int] = set()  # threads
        self._tool: Optional[int] = None

    def watch(self, debugger: Any, pydevd: Any, thread: Any) -> None:
        """Hear of this thread too, which steps."""
        self._debugger, self._pydevd = debugger, pydevd
        self._stepping.add(thread.ident)
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        events = monitoring.events
        for tool in _TOOLS if self._tool is None else ():
            if monitoring.get_tool(tool) is None:
                monitoring.use_tool_id(tool, "dualdbg steps")
                monitoring.register_callback(tool, events.PY_UNWIND, self._unwound)
                monitoring.register_callback(tool, events.PY_RESUME, self._resumed)
                monitoring.set_events(tool, events.PY_UNWIND | events.PY_RESUME)
                self._tool = tool
                break

    def _unwound(self, code: CodeType, offset: int, error: BaseException) -> None:
        thread = self._thread_that_steps()
        if thread is None:
            return
        info = thread.additional_info
        left = sys._getframe(1)
        caller = visible_caller(self._debugger, left)
        if (
            info.pydev_step_stop is None
        ):  # a step into what comes: any end that leads to the user's code, as of a return
            began = caller is not None and info.step_in_initial_location == (caller, caller.f_lineno)
            if caller is not left.f_back or began:
                return
        elif info.pydev_step_stop is not left:
            return
        if caller is not None and caller is not left.f_back:
            # The exception may be handled in between: the step goes on in the caller.
            info.pydev_step_stop = caller
            self._debugger.set_trace_for_frame_and_parents(thread.ident, caller)
            self._pydevd.pydevd_sys_monitoring.restart_events()
        elif caller is not None:
            info.trace_suspend_type = "sys_monitor"
            stop(self._debugger, thread, caller)

    def _resumed(self, code: CodeType, offset: int) -> None:
        thread = self._thread_that_steps()
        if thread is not None and thread.additional_info.pydev_step_stop is None:  # a step into what comes
            monitoring = self._pydevd.pydevd_sys_monitoring
            monitoring.enable_code_tracing(thread.ident, code, sys._getframe(1))

    def _thread_that_steps(self) -> Any:
        """The current thread, where a step is under way in it."""
        threading = self._pydevd.threading
        if threading.get_ident() not in self._stepping:
            return None
        thread = threading.current_thread()
        if self._debugger.pydb_disposed:  # its session is over, or this is a forked child
            self._stepping.clear()
        elif thread.additional_info.pydev_step_cmd != -1:
            # Code that the debugger runs in the thread is no part of the step.
            return None if thread.additional_info.is_tracing else thread
        self._stepping.discard(thread.ident)
        if not self._stepping:
            self.end()
        return None

    def end(self) -> None:
        """Hear of nothing any more: no thread steps, or the session is over."""
        self._stepping.clear()
        tool, self._tool = self._tool, None
        if tool is not None:
            monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)


monitored = Monitored()
