"""Runs in the target: watchpoints of Python, which tell at the next line that a value has changed.

The value is read before each line that may have changed it, without running the program's code (dualdbg_paths.py): for
a variable of a function that nobody else can reach before the lines of that function, for everything else before each
line that the user can see. From CPython 3.12 on sys.monitoring tells of the lines, before that a trace function in
front of pydevd's (dualdbg_traced.py). The stop is made by pydevd, and the session asks in the thread what it is for.
CPython 3.8 and later.
"""

from __future__ import annotations

import json
import os
import sys
from _thread import allocate_lock, get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Dict, List, Optional, Set

    from dualdbg.target.bootstrap import dualdbg_kinds as kinds
    from dualdbg.target.bootstrap import dualdbg_paths as paths
    from dualdbg.target.bootstrap.pydevd_patches import dualdbg_steps as steps
else:
    kinds = globals()["beside"]("dualdbg_kinds")  # whoever loads this file puts ``beside`` there
    paths = globals()["beside"]("dualdbg_paths")
    steps = globals()["beside"]("dualdbg_steps")

# Numbers of sys.monitoring. The highest is told first: a watchpoint comes before pydevd and what steps listen to.
_TOOLS = (5, 4, 3)
# call_trampoline of earlier ones copies a frame's variables, also those of closures, before and after each call.
_LEAVES_VARIABLES = (3, 11)
_BREAKPOINT = 111  # CMD_SET_BREAK (pydevd_comm_constants.py)
_STEPS = (107, 108, 144, 159, 206)  # CMD_STEP_INTO, CMD_STEP_OVER, both for MY_CODE, CMD_STEP_INTO_COROUTINE
_SUSPENDED = 2  # STATE_SUSPEND
LINE, RETURN, RAISE, PAUSE, RESUME = "line", "return", "raise", "pause", "resume"
_NONE: Any = []
_ENDS = (RETURN, RAISE)
_LEAVES = (RETURN, RAISE, PAUSE)


class Taken(Exception):
    """The interpreter has no number for one more tool."""


class Watch:
    """A watchpoint. ``value`` is what was there when the path was last read."""

    def __init__(self, number: int, expression: str, frame: FrameType, condition: Optional[str]) -> None:
        """Raises NeedsCode, NameError, or SyntaxError for the condition."""
        self.number = number
        self.path = paths.Path(expression, frame)
        self.read = self.path.read
        self.value: Any = self.read()
        self.globals = frame.f_globals
        self.condition = _compiled(condition)
        self.enabled = True
        self.line: Any = (frame.f_code.co_filename, frame.f_lineno)  # where its frame is

    def why_not(self) -> Optional[str]:
        """Why the condition has no value, empty where it is false; None where it holds."""
        if self.condition is None:
            return None
        names = self.globals if self.path.frame is None else self.path.frame.f_locals
        try:
            return None if eval(self.condition, self.globals, names) else ""
        except Exception as error:
            import pydevd  # type: ignore[import-not-found]

            return str(pydevd.dualdbg_presentation.worded(error))


def _compiled(condition: Optional[str]) -> Any:
    return None if condition is None else compile(condition, "<condition>", "eval")


def is_same(one: Any, other: Any) -> bool:
    """Whether a value is what it was: the same object, or an equal number or text."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) is paths.Absent:
        return bool(one.text == other.text)
    if not kinds.is_of(one, kinds.LEAVES):
        return False
    return bool(one == other or (one != one and other != other))


class Watches:
    """The watchpoints of a debugger, and what is to be told of them."""

    def __init__(self, debugger: Any, pydevd: Any) -> None:
        self._debugger, self._pydevd = debugger, pydevd
        self._all: Dict[int, Watch] = {}
        self._bound: Dict[
            int, List[Watch]
        ] = {}  # by the number of the frame whose code alone can change them
        self._ending: Dict[int, FrameType] = {}  # frames with whose end some end, by number
        self._everywhere: List[Watch] = []
        self._seen: Dict[CodeType, bool] = {}
        self._last: Any = None  # which thread has begun which line last
        self._reading, self._updating = allocate_lock(), allocate_lock()
        self._met: Dict[int, List[Dict[str, Any]]] = {}  # by thread: what its stop is for
        self._passed: Dict[int, Any] = {}  # by thread: the frame and the line at which it was stopped last
        self._repeats: Set[int] = set()  # threads that pydevd is about to stop there again
        self._means: Any = None
        os.register_at_fork(after_in_child=self.end)

    # -- what the session asks for ------------------------------------------------------------------

    def add(self, number: int, expression: str, condition: Optional[str], frame_number: int) -> str:
        """Watch an expression of a frame of the current thread, by its number in DAP.

        JSON: why that is refused, or null. With number 0 nothing is watched, and that alone is told.
        """
        from _pydevd_bundle._debug_adapter.pydevd_base_schema import BaseSchema  # type: ignore[import-not-found]

        identity = BaseSchema._dap_id_to_obj_id.get(frame_number)
        frame: Any = sys._getframe(1)
        while frame is not None and id(frame) != identity:
            frame = frame.f_back
        if frame is None:
            return json.dumps("the frame is not one in which the thread stands")
        if sys.version_info < _LEAVES_VARIABLES and not self._is_alone():
            return json.dumps(
                "several threads run, and before CPython 3.11 a trace function writes variables back that they share"
            )
        try:
            watch = Watch(number, expression, frame, condition)
        except paths.NeedsCode as reason:
            return json.dumps(str(reason))
        except (NameError, SyntaxError, ValueError) as error:
            return json.dumps("%s: %s" % (type(error).__name__, error))
        if number == 0:
            return json.dumps(None)
        self._all[number] = watch
        try:
            self._update()
        except Taken:
            del self._all[number]
            return json.dumps("other tools have taken all numbers of sys.monitoring")
        if self._last is None:
            self._back_in(self._debugger.stopped_in.get(get_ident()))
        return json.dumps(None)

    def remove(self, number: int) -> None:
        """Watch it no more."""
        if self._all.pop(number, None) is not None:
            self._update()

    def switch(self, number: int, enabled: bool) -> bool:
        """Switch one off or on again. Returns whether it is there: its frame may have ended."""
        watch = self._all.get(number)
        if watch is None:
            return False
        if enabled and not watch.enabled:
            watch.value = watch.read()
        watch.enabled = enabled
        self._update()
        return True

    def condition(self, number: int, condition: Optional[str]) -> None:
        """Stop only where this is true from now on. Raises SyntaxError."""
        if number in self._all:
            self._all[number].condition = _compiled(condition)

    def met(self) -> str:
        """JSON: what the stop of the current thread is for; null where it is not for a watchpoint.

        Each has the watchpoint's number, the texts of the old and the new value where it has changed, the file and line
        that changed it where that is known, whether that is sure, why its condition has no value, and whether its frame
        has ended.
        """
        return json.dumps(self._met.get(get_ident()))

    def end(self) -> None:
        """Watch nothing any more: the session is over, or this is a child."""
        self._reading, self._updating = (
            allocate_lock(),
            allocate_lock(),
        )  # in a child nobody may give them back
        self._all.clear()
        for table in (self._met, self._passed, self._seen):
            table.clear()
        self._update()

    # -- what is heard of ---------------------------------------------------------------------------

    def _update(self) -> None:
        """Hear of what the watchpoints need, and of nothing else."""
        with self._updating:
            everywhere: List[Watch] = []
            bound: Dict[int, List[Watch]] = {}
            ending: Dict[int, FrameType] = {}
            for watch in list(self._all.values()):
                frame = watch.path.frame
                if frame is not None:
                    ending[id(frame)] = frame
                if watch.enabled and watch.path.is_local:
                    bound.setdefault(id(frame), []).append(watch)
                elif watch.enabled:
                    everywhere.append(watch)
            if not self._everywhere:
                self._last = None
            self._bound, self._ending, self._everywhere = bound, ending, everywhere
            if self._means is None and self._all:
                beside = self._pydevd.dualdbg_presentation.beside
                if self._pydevd.PYDEVD_USE_SYS_MONITORING:
                    self._means = Monitored(self, beside("dualdbg_restarts").Restarts())
                else:
                    self._means = beside("dualdbg_traced").Traced(self, self._debugger)
            if self._means is not None:
                lines = {frame.f_code for number, frame in ending.items() if number in bound}
                self._means.hear(bool(everywhere), lines, {frame.f_code for frame in ending.values()})

    def come_first(self, frame: FrameType) -> None:
        """pydevd has set its trace functions anew, in this frame and its callers: hear of lines before it."""
        if self._means is not None:
            self._means.come_first(frame)

    def goes_on(self) -> None:
        """The current thread goes on after a stop."""
        if self._means is not None:
            self._means.goes_on()

    @property
    def is_everywhere(self) -> bool:
        """Whether all lines that the user sees are of interest."""
        return bool(self._everywhere)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is watched."""
        return not self._all

    def concerns(self, frame: FrameType) -> bool:
        """Whether something of this frame is of interest."""
        if id(frame) in self._ending:
            return True
        return bool(self._everywhere) and self.sees(frame)

    def sees(self, frame: FrameType) -> bool:
        """Whether the user sees this frame."""
        found = self._seen.get(frame.f_code)
        if found is None:
            found = self._seen[frame.f_code] = not steps.is_hidden(self._debugger, frame)
        return found

    def _visible_caller(self, frame: FrameType) -> Optional[FrameType]:
        caller = frame.f_back
        while caller is not None and not self.sees(caller):
            caller = caller.f_back
        return caller

    # -- what happens -------------------------------------------------------------------------------

    def happens(self, frame: FrameType, event: str, line: int) -> None:
        """A thread is about to begin a line, or to leave a frame, or to come back to it. It may be stopped here."""
        try:
            bound, everywhere = self._bound.get(id(frame), _NONE), self._everywhere
            last = None
            if everywhere:
                last, self._last = self._last, (get_ident(), frame.f_code, line)
            changed = _NONE
            for watch in everywhere + bound if bound else everywhere:
                value = watch.read()
                if value is not watch.value and not is_same(value, watch.value):
                    changed = [*changed, watch]
            if changed or (event in _ENDS and id(frame) in self._ending):
                self._tell(frame, event, line, changed, last)
            elif everywhere and event in _LEAVES:
                self._back_in(self._visible_caller(frame))
            if bound and event == LINE:
                for watch in bound:
                    watch.line = (frame.f_code.co_filename, line)
        except (
            Exception
        ) as error:  # nothing of ours is raised in the program: the user is told, and it is over
            why = "%s: %s" % (type(error).__name__, error)
            numbers = list(self._all)
            self.end()
            rows = [{"number": number, "over": True, "why": why} for number in numbers]
            self._stop(self._pydevd.threading.current_thread(), frame, LINE, line, rows)

    def _back_in(self, caller: Optional[FrameType]) -> None:
        """The line that goes on is the one of this frame."""
        self._last = None if caller is None else (get_ident(), caller.f_code, caller.f_lineno)

    def _tell(self, frame: FrameType, event: str, line: int, changed: List[Watch], last: Any) -> None:
        """Stop for what has changed, and for what ends with the frame."""
        thread = self._pydevd.threading.current_thread()
        if getattr(thread, "is_pydev_daemon_thread", False):
            self._last = None
            return
        info = self._info(thread)
        if info.is_tracing or self._debugger.pydb_disposed:  # the debugger's own work in the thread
            self._last = None
            return
        shown = frame
        if event in _LEAVES:
            shown = self._visible_caller(frame) or frame
        info.is_tracing += 1
        try:
            while info.pydev_state == _SUSPENDED and not self._debugger.pydb_disposed:
                self._wait(thread, shown, event)  # another thread's stop comes first
            told = {row["number"]: row for row in (self._change(watch, last) for watch in changed) if row}
            for watch in self._ended_with(frame) if event in _ENDS else ():
                if watch.enabled:
                    told.setdefault(watch.number, {"number": watch.number})["over"] = True
            if event in _LEAVES:
                self._back_in(shown)
            if told:
                self._stop(thread, shown, event, line, list(told.values()))
        finally:
            info.is_tracing -= 1

    def _info(self, thread: Any) -> Any:
        from _pydevd_bundle.pydevd_additional_thread_info import (  # type: ignore[import-not-found]
            set_additional_thread_info,
        )

        return set_additional_thread_info(thread)

    def _ended_with(self, frame: FrameType) -> List[Watch]:
        """The watchpoints that end with a frame. They are watched no more."""
        if id(frame) not in self._ending:
            return []
        ended = [watch for watch in list(self._all.values()) if watch.path.frame is frame]
        for watch in ended:
            self._all.pop(watch.number, None)
        self._update()
        return ended

    def _change(self, watch: Watch, last: Any) -> Optional[Dict[str, Any]]:
        """What is told of a change; None where another thread has told it, or the condition does not hold."""
        with self._reading:
            old, new = watch.value, watch.read()
            if is_same(new, old):
                return None
            watch.value = new
        why = watch.why_not()
        if why == "":
            return None
        reader = self._pydevd.dualdbg_presentation.reader()
        texts = [one.text if type(one) is paths.Absent else reader.text(one, 1) for one in (old, new)]
        row: Dict[str, Any] = {"number": watch.number, "old": texts[0], "new": texts[1], "why": why}
        if watch.path.is_local:
            row["file"], row["line"], row["sure"] = watch.line[0], watch.line[1], True
        elif last is not None and last[0] == get_ident():
            row["file"], row["line"], row["sure"] = last[1].co_filename, last[2], self._is_alone()
        return row

    def _is_alone(self) -> bool:
        """Whether no other thread of the program runs Python."""
        known: Any = self._pydevd.threading._active
        others = set(sys._current_frames()) - {get_ident()}
        return all(getattr(known.get(one), "is_pydev_daemon_thread", False) for one in others)

    # -- the stop -----------------------------------------------------------------------------------

    def _stop(self, thread: Any, frame: FrameType, event: str, line: int, rows: List[Dict[str, Any]]) -> None:
        number = get_ident()
        self._met[number] = rows
        self._passed.pop(number, None)
        self._debugger.set_suspend(thread, _BREAKPOINT)
        self._wait(thread, frame, event)
        self._met.pop(number, None)
        if event == LINE and not self.is_idle:
            self._passed[number] = frame, line

    def _wait(self, thread: Any, frame: FrameType, event: str) -> None:
        monitors = self._pydevd.PYDEVD_USE_SYS_MONITORING
        thread.additional_info.trace_suspend_type = "sys_monitor" if monitors else "trace"
        self._debugger.do_wait_suspend(thread, frame, "return" if event in _LEAVES else "line", None)

    def repeats(self, stop_reason: int) -> bool:
        """Whether pydevd is about to end a step on the line at which the thread was stopped last.

        pydevd hears of that line after the stop for a watchpoint at which the step began.
        """
        number = get_ident()
        frame, line = self._passed.pop(number, (None, None))
        if frame is None or stop_reason not in _STEPS or frame.f_lineno != line:
            return False
        innermost: Any = sys._getframe(2)
        while innermost is not None and self._debugger.get_file_type(innermost) is not None:
            innermost = innermost.f_back
        if innermost is not frame:
            return False
        self._repeats.add(number)
        return True

    def passes_over(self) -> bool:
        """Whether the stop is one of which :meth:`repeats` has said so."""
        number = get_ident()
        if number not in self._repeats:
            return False
        self._repeats.discard(number)
        return True


class Monitored:
    """From 3.12 on: hears of lines and ends by sys.monitoring; of one function where that is enough."""

    def __init__(self, watches: Watches, restarts: Any) -> None:
        self._watches, self._restarts = watches, restarts
        self._tool: Optional[int] = None
        self._lines: Set[CodeType] = set()  # those of which something is heard

    def hear(self, everywhere: bool, lines: Set[CodeType], ends: Set[CodeType]) -> None:
        """Hear of all lines, or of those of some functions, and of the ends of some."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        events = monitoring.events
        if self._tool is None:
            if not (everywhere or ends):
                return
            self._begin(monitoring)
        each = events.LINE | events.PY_RETURN | events.PY_YIELD | events.PY_RESUME
        for code in self._lines | ends:
            wanted = each if code in lines else events.PY_RETURN if code in ends else 0
            monitoring.set_local_events(self._tool, code, wanted)
        self._lines = set(ends)
        everything = each | events.PY_UNWIND
        monitoring.set_events(self._tool, everything if everywhere else events.PY_UNWIND if ends else 0)
        if everywhere:
            self._restarts.restart()
        if not (everywhere or ends):
            monitoring.free_tool_id(self._tool)
            self._tool = None

    def come_first(self, frame: FrameType) -> None:
        """Nothing to do: the numbers of the tools decide who is told first."""

    def goes_on(self) -> None:
        """Nothing to do: what is heard of is the interpreter's, not a thread's."""

    def _begin(self, monitoring: Any) -> None:
        events = monitoring.events
        free = [tool for tool in _TOOLS if monitoring.get_tool(tool) is None]
        if not free:
            raise Taken
        self._tool = free[0]
        monitoring.use_tool_id(self._tool, "dualdbg watchpoints")
        monitoring.register_callback(self._tool, events.LINE, self._line)
        monitoring.register_callback(self._tool, events.PY_RETURN, self._returned)
        monitoring.register_callback(self._tool, events.PY_YIELD, self._yielded)
        monitoring.register_callback(self._tool, events.PY_RESUME, self._resumed)
        monitoring.register_callback(self._tool, events.PY_UNWIND, self._unwound)

    def _line(self, code: CodeType, line: int) -> Any:
        frame = sys._getframe(1)
        watches = self._watches
        if watches.concerns(frame):
            watches.happens(frame, LINE, line)
            return None
        # Where all lines are heard of, those that the user does not see are of no interest to anybody.
        return self._restarts.disable() if watches.is_everywhere else None

    def _returned(self, code: CodeType, offset: int, value: Any) -> Any:
        frame = sys._getframe(1)
        return self._happens(frame, RETURN, frame.f_lineno)

    def _yielded(self, code: CodeType, offset: int, value: Any) -> Any:
        frame = sys._getframe(1)
        return self._happens(frame, PAUSE, frame.f_lineno)

    def _resumed(self, code: CodeType, offset: int) -> Any:
        frame = sys._getframe(1)
        return self._happens(frame, RESUME, frame.f_lineno)

    def _unwound(self, code: CodeType, offset: int, error: BaseException) -> None:
        frame = sys._getframe(1)
        self._happens(frame, RAISE, frame.f_lineno)

    def _happens(self, frame: FrameType, event: str, line: int) -> Any:
        watches = self._watches
        if watches.concerns(frame):
            watches.happens(frame, event, line)
            return None
        if watches.is_everywhere and event != RAISE:
            return self._restarts.disable()
        return None
