"""pydevd loses steps. Reports: docs/upstream/step-out-by-exception, next-over-return, return-value-of-raise.

Runs in the target.

A step in a function that an exception leaves ends in the caller, on the line that called. Up to CPython 3.11 pydevd
takes such an end of a generator or a coroutine for a pause, on any line but one that returns (trace_dispatch in
pydevd_frame.py); from 3.12 on it looks at no end by an exception (_unwind_event in _pydevd_sys_monitoring.py).

A step waits in a queue for its thread, which may be busy with an expression. What lets the thread run meanwhile comes
first, and pydevd would begin the step at the next stop, which would be lost.

A step into a generator that goes on ends there: from 3.12 on pydevd looks at functions that begin alone
(update_monitor_events has no callback for PY_RESUME).

A step over lines that leaves its function ends in the caller, as a step out does. pydevd would stop at whatever line
comes next, which may be one of another function that the caller, or a library, calls: up to 3.11 always, from 3.12 on
where a library has called the function (_return_event).

What a function has returned is that of the frame in which the step began. pydevd notes a value for each function that
returns meanwhile, and up to 3.11 None for one that raises. Its step out leaves the outermost function of the libraries
that have called.
"""

from __future__ import annotations

import opcode
import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, List, Optional, Set

_PAUSES = 0x2A0  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR (inspect.py)
# Of pydevd_comm_constants.py: CMD_STEP_OVER and CMD_STEP_OVER_MY_CODE, and what steps out as they do.
_OUT_OF = {108: 109, 159: 160}
_OUT = tuple(_OUT_OF.values())
_STEP_COMMANDS = (107, 128, 144, 206, *_OUT_OF, *_OUT)  # and CMD_STEP_INTO, _SMART_, _MY_CODE, _COROUTINE
_ENTRY = 154  # CMD_STOP_ON_START: a step that no stop has begun
_STEPS = ("internal_step_in_thread", "internal_smart_step_into")  # functions of pydevd_comm.py
_RETURNED = "__pydevd_ret_val_dict"  # pydevd's variable with what functions have returned to a frame
_TOOLS = (4, 3, 5)  # numbers of sys.monitoring that no kind of tool has to itself


def watch(debugger: Any, pydevd: Any, left: FrameType) -> None:
    """A step may begin in ``left``, the innermost function of the current thread that the user sees."""
    thread = pydevd.threading.current_thread()
    info = getattr(thread, "additional_info", None)  # pydevd's own threads have none
    if info is None or info.pydev_step_cmd == -1 or debugger.pydb_disposed:
        return
    if info.pydev_original_step_cmd == _ENTRY:
        return
    number = get_ident()
    # A step out of libraries is pydevd's step out of the outermost of them.
    step = debugger.begun_steps[number] = Step(debugger, thread, debugger.stopped_in.get(number, left))
    if sys.version_info >= (3, 12):
        monitored.watch(debugger, pydevd, thread, step)
        return
    globals()["beside"]("dualdbg_traced").at_next_event(step.cover)
    if info.pydev_step_stop is left and left.f_code.co_flags & _PAUSES:
        caller = visible_caller(debugger, left)
        if caller is not None and caller.f_trace is not None:
            caller.f_trace = Caller(debugger, thread, caller.f_trace)


class Step:
    """A step, from the ``frame`` in which it began. Up to 3.11 it is also that frame's trace function.

    ``returned``: what the frame has returned since to ``caller``, the innermost that the user sees; None for that while
    it has not, or where an exception has left it. A frame that was left is kept alive no longer. ``way_out``: the
    function of a library whose return ends the step, where pydevd hears nothing of that (threading.py, weakref.py,
    ...); else None.
    """

    def __init__(self, debugger: Any, thread: Any, frame: FrameType) -> None:
        self.frame: Optional[FrameType] = frame
        self.code = frame.f_code
        self.returned: Any = None
        self.caller: Optional[FrameType] = None
        self.way_out: Optional[FrameType] = None
        self._debugger = debugger
        self._thread = thread
        self._info = info = thread.additional_info
        if info.pydev_step_cmd in _OUT:
            self._hear_of(info.pydev_step_stop)
        self._trace: Any = None  # pydevd's
        (_noted(frame) or {}).clear()  # what is there when the step has ended was returned meanwhile

    @property
    def is_under_way(self) -> bool:
        """Whether it is the step of the current thread."""
        return self._debugger.begun_steps.get(get_ident()) is self

    def cover(self, _: FrameType) -> None:
        """Up to 3.11: hear of the frame before pydevd does, behind watchpoints."""
        front: Any = self.frame
        place, traced = "f_trace", globals()["beside"]("dualdbg_traced")
        if front is not None and type(front.f_trace) is traced.Frame:
            front, place = front.f_trace, "inner"
        trace = getattr(front, place, None)
        self._trace = trace._trace if type(trace) is Step else trace
        if front is not None:
            setattr(front, place, self)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        trace = self._trace
        if not self.is_under_way:
            frame.f_trace = trace
        elif event == "return":
            if opcode.opname[frame.f_code.co_code[frame.f_lasti]] == "RETURN_VALUE":
                self.returns(frame, argument)
            elif not frame.f_code.co_flags & _PAUSES:
                self.leave(frame)  # by an exception
        found = None if trace is None else trace(frame, event, argument)
        if not self.is_under_way or self.frame is None:
            return found
        self._trace = trace if found is None else found
        return self

    def returns(self, frame: FrameType, value: Any) -> None:
        """The frame is about to return."""
        self.caller = visible_caller(self._debugger, frame)
        self.returned = None if self.caller is None else value
        # What runs next in a loop of tasks, once a task is done, is no call of whoever runs the loop.
        if not frame.f_code.co_flags & _PAUSES or self.caller is frame.f_back:
            self.leave(frame)
        self.frame = None

    def leave(self, frame: FrameType) -> None:
        """The frame is about to be left: a step over lines goes on as a step out."""
        info, out, self.frame = self._info, way_out(self._debugger, frame), None
        if info.pydev_step_stop is not frame or info.pydev_step_cmd not in _OUT_OF or out is None:
            return
        info.pydev_step_cmd, info.pydev_step_stop = _OUT_OF[info.pydev_step_cmd], out
        if out is not frame:
            self._hear_of(out)
            self._debugger.trace_again(self._thread.ident, out)

    def forget(self) -> None:
        """It has ended."""
        monitored.hear_of(self, False)
        self.frame = self.caller = self.way_out = self.returned = None

    def _hear_of(self, out: FrameType) -> None:
        if self._debugger.get_file_type(out) is None:
            return
        self.way_out = out
        if sys.version_info < (3, 12):
            out.f_trace = self._left
        else:
            monitored.hear_of(self)

    def _left(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return" and self.is_under_way:
            self.end()
        return self._left

    def end(self) -> None:
        """``way_out`` returns."""
        if self.way_out is not None and self.way_out.f_back is not None:
            stop(self._debugger, self._thread, self.way_out.f_back)


def way_out(debugger: Any, frame: FrameType) -> Optional[FrameType]:
    """What returns to the user's code when ``frame`` is left: that, or the outermost of the libraries that called it.

    None where nothing of the user's has called it.
    """
    while frame.f_back is not None:
        if not is_hidden(debugger, frame.f_back):
            return frame
        frame = frame.f_back
    return None


def results_at(debugger: Any, thread: Any, frame: FrameType) -> Any:
    """A stop begins in ``frame``: what is shown there as returned, by the names of functions, as long as it lasts.

    That is what the frame in which the step began has returned to this one. Where that is ``frame`` itself, it is what
    its calls have returned to it. Up to 3.11 pydevd has noted None there for a function that has raised, too: no None
    is shown.
    """
    step, noted = debugger.begun_steps.pop(get_ident(), None), _noted(frame)
    results: Any = {}
    if step is not None:
        if frame is step.caller and thread.stop_reason in _STEP_COMMANDS:
            results[step.code.co_name] = debugger.results[get_ident()] = step.returned
        elif frame is step.frame and noted and thread.stop_reason not in _OUT:
            has_none = sys.version_info >= (3, 12)
            results.update((name, value) for name, value in noted.items() if has_none or value is not None)
        step.forget()
    (noted or {}).clear()
    if results:
        noted = _noted(frame, results)
        noted.update(results)
    return noted


def _noted(frame: FrameType, first: Any = None) -> Any:
    """What pydevd has noted as returned to a frame; ``first`` where there is nothing yet."""
    names = frame.f_locals
    if type(names) not in (dict, type(sys._getframe().f_locals)):
        return {}  # a mapping of the program's own
    return names.get(_RETURNED) if first is None else names.setdefault(_RETURNED, first)


class NothingReturned:
    """Stands for a result that is not there. An exception would keep the variables alive that debugpy copies."""


def returned() -> Any:
    """What the function has returned in which the step began that has ended in the frame where this is evaluated."""
    return sys.modules["pydevd"].get_global_debugger().results.get(get_ident(), NothingReturned())


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
    info.is_tracing += 1
    try:
        debugger.set_suspend(thread, info.pydev_step_cmd, original_step_cmd=info.pydev_original_step_cmd)
        debugger.do_wait_suspend(thread, frame, "return", None)
    finally:
        info.is_tracing -= 1


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
        stop(self._debugger, self._thread, frame)
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

    def watch(self, debugger: Any, pydevd: Any, thread: Any, step: Step) -> None:
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
                monitoring.register_callback(tool, events.PY_RETURN, self._returned)
                monitoring.set_events(tool, events.PY_UNWIND | events.PY_RESUME)
                self._tool = tool
                break
        self.hear_of(step)

    def hear_of(self, step: Step, wanted: bool = True) -> None:
        """Hear of the returns that matter to a step, or hear of them no more."""
        if self._tool is not None:
            monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
            events = monitoring.events.PY_RETURN if wanted else 0
            for code in (step.code, *([step.way_out.f_code] if step.way_out is not None else ())):
                monitoring.set_local_events(self._tool, code, events)

    def _returned(self, code: CodeType, offset: int, value: Any) -> None:
        step, frame = self._debugger.begun_steps.get(get_ident()), sys._getframe(1)
        if step is None or self._thread_that_steps() is None:
            return
        if frame is step.frame:
            step.returns(frame, value)
        elif frame is step.way_out:
            step.end()

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
            # The exception may be handled in between.
            step = self._debugger.begun_steps.get(thread.ident)
            if step is not None:
                step.leave(left)
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
