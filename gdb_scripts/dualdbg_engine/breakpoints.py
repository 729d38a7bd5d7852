"""Many breakpoints at once, log points that print without a stop, conditions and log texts.

Nothing here changes the target.
"""

from __future__ import annotations

import functools
import json
import os
import re
import time
from pathlib import Path
from typing import Any, ContextManager, Sequence

import gdb
from dualdbg_helpers import cython_frames, expressions, in_time, language
from dualdbg_shared.console_text import plain
from dualdbg_shared.patience import factor
from dualdbg_shared.requests.breakpoints import (
    CountHits,
    DeleteBreakpoints,
    EvaluateCondition,
    FormatLogText,
    InsertAtFunction,
    InsertBreakpoint,
    InsertBreakpoints,
    InsertCue,
    InsertLogPoint,
    ReadLastBreakpoint,
    RequireThread,
    SetBreakpoint,
    SetCondition,
)

from . import blocks, taught, values
from .calls import NoCalls, undisturbed
from .registry import answers
from .step_ends import top_of
from .threads import newest_frame, os_thread, select_innermost, show_while

_WATCHPOINTS = (
    gdb.BP_WATCHPOINT,
    gdb.BP_HARDWARE_WATCHPOINT,
    gdb.BP_READ_WATCHPOINT,
    gdb.BP_ACCESS_WATCHPOINT,
)
_COMPOUND = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_REF)
# Begins a line on gdb's log stream: [breakpoint, text]; dualdbg/backends/gdb_events.py.
_LOG_MARK = "dualdbg-log:"
# The same of a condition that is false often: [breakpoint, hits a second].
_OFTEN_MARK = "dualdbg-often:"
_CALL_SECONDS = 5.0 * (factor() or 1.0)  # for what a condition or a log text calls
_OFTEN = 100  # false hits


def _library_gone(event: Any) -> None:
    """A library was unloaded: breakpoints in it are switched off until the session deletes them at this stop.

    gdb 18 would set them at the same addresses again, where nothing is mapped, and stand still without a word when it
    cannot (handle_inferior_event).
    """
    _switch_off_unmapped()


def _program_gone(event: Any) -> None:
    """The process runs another program (exec), whose file gdb reads now: the same with all breakpoints.

    gdb would set them in the new program, and stand still without a word when it cannot (follow_exec).
    """
    try:
        if not Path("/proc/%d/exe" % gdb.selected_inferior().pid).samefile(event.new_objfile.filename):
            return
    except OSError:
        return
    _switch_off_unmapped()
    for point in gdb.breakpoints():
        if point.type in _WATCHPOINTS:
            point.enabled = False


def _switch_off_unmapped() -> None:
    try:
        memory = os.open("/proc/%d/mem" % gdb.selected_inferior().pid, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return  # a core, or the process has ended
    try:
        for point in gdb.breakpoints():
            if point.type == gdb.BP_BREAKPOINT and point.enabled and not _is_mapped(memory, point):
                point.enabled = False
    finally:
        os.close(memory)


def _is_mapped(memory: int, point: gdb.Breakpoint) -> bool:
    try:
        return all(os.pread(memory, 1, address) for address in addresses(point))
    except OSError:
        return False


def addresses(point: gdb.Breakpoint) -> list[int]:
    """Where a breakpoint is."""
    if hasattr(point, "locations"):
        return [place.address for place in point.locations]
    text = point.location or ""  # gdb 12
    return [int(text[1:])] if re.fullmatch(r"\*\d+", text) else []


gdb.events.new_objfile.connect(_program_gone)
if int(gdb.VERSION.partition(".")[0]) >= 18:
    gdb.events.free_objfile.connect(_library_gone)


@answers(InsertBreakpoints)
def insert_breakpoints(gdb_thread: int, addresses: Sequence[int]) -> list[int]:
    """Set breakpoints at these addresses for one thread; returns gdb's numbers for them.

    Where an inlined function begins, the function that calls it is shown. gdb would hide the inlined one by itself at
    an internal breakpoint, and keep a pointer to its symbol, also when the symbols are replaced (:func:`.read_whole`):
    then it uses freed memory, and ends (seen with 13.1 and 15.2).
    """
    numbers = []
    for address in addresses:
        begins = blocks.inlined_at(address)
        with language.ours():
            point = gdb.Breakpoint(
                "*%d" % address, internal=begins is None
            )  # internal: gdb does not report them
        point.thread = gdb_thread
        numbers.append(_shown(point, address, blocks.caller_of(begins) if begins is not None else None))
    return numbers


@answers(InsertBreakpoint)
def insert_breakpoint(address: int, gdb_thread: int | None = None) -> int:
    point = Point(address)
    if gdb_thread is not None:
        point.thread = gdb_thread
    return int(point.number)


@answers(SetCondition)
def set_condition(number: int, condition: "str | None") -> None:
    point = breakpoint_of(number)
    if isinstance(point, Point):
        point.require(condition)
    else:  # a watchpoint, whose condition is gdb's
        point.condition = condition


@answers(RequireThread)
def require_thread(number: int, gdb_thread: int) -> None:
    breakpoint_of(number).thread = gdb_thread


@answers(InsertCue)
def insert_cue(address: int, register: str, value: int) -> int:
    with language.ours():
        point = gdb.Breakpoint("*%d" % address, internal=True)
        point.condition = "(int)$%s == %d" % (register, value)
    return int(point.number)


def breakpoint_of(number: int) -> gdb.Breakpoint:
    """The breakpoint of this number. Raises GdbError where there is none."""
    point: gdb.Breakpoint
    for point in gdb.breakpoints():
        if point.number == number:
            return point
    raise gdb.GdbError("there is no breakpoint %d" % number)


@answers(ReadLastBreakpoint)
def last_breakpoint() -> int:
    number = gdb.convenience_variable("bpnum")
    return 0 if number is None else int(number)


@answers(DeleteBreakpoints)
def delete_breakpoints(numbers: Sequence[int]) -> None:
    wanted = set(numbers)
    for point in gdb.breakpoints():
        if point.number in wanted:
            point.delete()


class Point(gdb.Breakpoint):
    """A breakpoint of the user, with a condition that we evaluate: gdb would call operators of the program.

    On a function that begins with what was inlined into it gdb shows the innermost inlined function at a breakpoint of
    the user's own, at an internal one the function that was not inlined. Its condition is evaluated in the frame that
    is shown: gdb would read it by the names of the innermost function.
    """

    def __init__(self, address: int, internal: bool = False) -> None:
        with language.ours():
            super().__init__("*%d" % address, internal=internal)
        self._address = address
        self.top: int | None = None  # the canonical address of the frame that is meant, if one is
        self._condition: str | None = None
        self._false = 0  # hits where it was, since the time _began
        self._began = 0.0
        self._tell_at = _OFTEN  # of them

    def require(self, condition: "str | None") -> None:
        """Let it stop where a condition is true; None: always. Raises gdb.error for a name that is not known there."""
        if condition is not None and self.number > 0:
            tree = expressions.parse(condition.strip())
            own = cython_frames.names_at(self._address)
            names = [condition] if tree is None else sorted(expressions.names_in(tree))
            _check(self._address, [cython_frames.translated(name, own) for name in names])
        self._condition, self._false, self._tell_at = condition, 0, _OFTEN

    def stop(self) -> bool:
        if self.top is not None and top_of(gdb.newest_frame()) != self.top:
            return False
        if self._condition is None:
            return True
        newest_frame().select()
        if _holds(self._condition):
            return True
        self._count_false()
        return False

    def _count_false(self) -> None:
        """Tell, ever more seldom, that the program comes here often, and for nothing."""
        if self._false % _OFTEN == 0:
            now = time.monotonic()
            if self._false >= self._tell_at and now - self._began < 1.0:
                self._tell_at *= 4
                line = json.dumps([self.number, round(_OFTEN / (now - self._began))])
                gdb.write("%s%s\n" % (_OFTEN_MARK, line), gdb.STDLOG)
            self._began = now
        self._false += 1


def _check(address: int, texts: "list[str]") -> None:
    """Have gdb read expressions at a place. Raises gdb.error where it cannot."""
    with language.ours():
        probe = gdb.Breakpoint("*%d" % address, internal=True)
    try:
        for text in texts:
            probe.condition = text
    finally:
        probe.delete()


@answers(InsertAtFunction)
def insert_at_function(address: int, inlined: str | None = None, gdb_thread: int | None = None) -> int:
    return function_point(address, inlined, gdb_thread)


def function_point(address: int, inlined: str | None, gdb_thread: int | None, top: int | None = None) -> int:
    """Set a breakpoint at which a function is shown though another one was inlined at its beginning.

    ``inlined`` is its name where it was inlined itself. Returns gdb's number, which is below zero for the others.
    It is for one thread, or for all; and for the frame that ends at ``top``, its canonical address, or for any.
    """
    block = _inlined(address, inlined)
    point = Point(address, internal=block is None)
    point.top = top
    if gdb_thread is not None:
        point.thread = gdb_thread
    return _shown(point, address, _whole(address, block))


def _holds(condition: str | None) -> bool:
    """Whether a condition is true, or has no value: then the breakpoint stops, and dualdbg says why."""
    if not condition:
        return True
    try:
        return _truth(condition)
    except (gdb.error, gdb.GdbError):
        return True


def _truth(condition: str) -> bool:
    """Whether a condition is true in the selected frame. Raises gdb.error or GdbError where it has no value."""
    found = taught.value_of(condition, gdb.selected_frame())
    return expressions.truth(condition) if found is None else bool(found[0])


def _inlined(address: int, name: str | None) -> gdb.Block | None:
    """The block of an inlined function of this name, which is to be shown at the address."""
    return blocks.function_named(name, address) if name is not None else None


def _whole(address: int, block: gdb.Block | None) -> gdb.Block | None:
    """The block that is to be shown at the address: this one, else that of the function that was not inlined."""
    return block or blocks.outer_function(address)


def _shown(point: gdb.Breakpoint, address: int, block: gdb.Block | None) -> int:
    """gdb's number of a breakpoint. At the address the function of ``block`` is shown for as long as it is there."""
    if block is not None:
        show_while(point, address, block)
    return int(point.number)


@answers(SetBreakpoint)
def set_breakpoint(number: int, attribute: str, value: Any) -> None:
    """Set an attribute of a breakpoint: ``enabled`` or ``ignore_count``.

    gdb's own commands do not take numbers below zero. Where gdb objects to a watchpoint that is switched on again, its
    function was left, and there is nothing to watch any more.
    """
    point = breakpoint_of(number)
    if attribute == "enabled" and value and point.type in _WATCHPOINTS:
        said = plain(gdb.execute("enable %d" % number, to_string=True)).strip()
        if said:
            raise gdb.GdbError(said)
        return
    setattr(point, attribute, value)


@answers(CountHits)
def hits(number: int) -> int:
    return int(breakpoint_of(number).hit_count)


class LogPoint(gdb.Breakpoint):
    """Prints and lets the thread go on, without a stop that gdb would report to dualdbg.

    It stops only when its condition cannot be evaluated, so that dualdbg can tell the user.
    """

    def __init__(
        self,
        address: int,
        texts: Sequence[str],
        expressions: Sequence[str],
        condition: str | None,
        tid: int,
        internal: bool,
    ) -> None:
        with language.ours():
            super().__init__("*%d" % address, internal=internal)
        self._texts = texts
        self._expressions = expressions
        self._condition = condition
        self._tid = tid

    def stop(self) -> bool:
        if self._tid and os_thread(gdb.selected_thread()) != self._tid:
            return False
        newest_frame().select()
        # Calls and assignments were refused when it was set: may-call-functions would print a message each time.
        if self._condition is not None:
            try:
                if not _truth(self._condition):
                    return False
            except (gdb.error, gdb.GdbError):
                return True
        line = json.dumps([self.number, _text(self._texts, self._expressions)])
        gdb.write("%s%s\n" % (_LOG_MARK, line), gdb.STDLOG)
        return False


@answers(InsertLogPoint)
def insert_log_point(
    address: int,
    texts: Sequence[str],
    expressions: Sequence[str],
    condition: str | None,
    tid: int,
    at_function: bool = False,
    inlined: str | None = None,
) -> int:
    block = _inlined(address, inlined) if at_function else None
    point = LogPoint(address, texts, expressions, condition, tid, internal=at_function and block is None)
    return _shown(point, address, block)


@answers(FormatLogText)
def log_text(gdb_thread: int, texts: Sequence[str], expressions: Sequence[str]) -> str:
    select_innermost(gdb_thread)
    with _calls(", ".join(expressions)):
        return _text(texts, expressions)


def _calls(text: str) -> "ContextManager[None]":
    """What is entered for an evaluation: nothing calls, but what is in the brackets of ``call(...)``."""
    wants = expressions.calls_at_will(expressions.parse("[%s]" % text))
    return undisturbed(text, _CALL_SECONDS) if wants else NoCalls()


def _text(texts: Sequence[str], between: Sequence[str]) -> str:
    parts = [texts[0]]
    for expression, text in zip(between, texts[1:]):
        try:
            found = taught.value_of(expression, gdb.selected_frame())
            if found is not None:
                parts += [found[1], text]
                continue
            value = expressions.evaluate(expression, may_call=False)
            if value.type.strip_typedefs().code in _COMPOUND:
                values.load_printers()
            written, is_late = in_time.within(functools.partial(value.format_string, max_elements=20))
            parts += [written or "", in_time.TOO_LONG if is_late else ""]
        except Exception as error:  # whatever a printer of the user raises
            parts.append("<%s>" % error)
        parts.append(text)
    return "".join(parts)


@answers(EvaluateCondition)
def condition_holds(gdb_thread: int, condition: str) -> bool:
    select_innermost(gdb_thread)
    with _calls(condition):
        return _truth(condition)
