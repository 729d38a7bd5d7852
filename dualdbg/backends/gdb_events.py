"""MI's records about the target become events. Only this module knows gdb's words for what happened."""

from __future__ import annotations

import json
import re

from ..errors import ProtocolError
from ..protocol import mi
from .events import (
    NativeConsole,
    NativeExited,
    NativeLog,
    NativeOften,
    NativeStopped,
    StopCause,
    WatchedValue,
)

_LOG_MARK = "dualdbg-log:"  # begins what a log point prints, gdb_scripts/dualdbg_engine/breakpoints.py
_OFTEN_MARK = "dualdbg-often:"  # the same
_OCTAL = re.compile(r"[0-7]{1,12}")
_WATCHPOINTS = ("wpt", "hw-rwpt", "hw-awpt")  # the MI fields with a watchpoint that was triggered

# GDB manual, "GDB/MI Async Records", and gdb/mi/mi-common.c.
_CAUSES = {
    "": StopCause.UNSAID,
    "breakpoint-hit": StopCause.BREAKPOINT,
    "watchpoint-trigger": StopCause.WATCHPOINT,
    "read-watchpoint-trigger": StopCause.WATCHPOINT,
    "access-watchpoint-trigger": StopCause.WATCHPOINT,
    "watchpoint-scope": StopCause.WATCHPOINT_GONE,
    "end-stepping-range": StopCause.STEPPED,
    "function-finished": StopCause.RETURNED,
    "location-reached": StopCause.LOCATION_REACHED,
    "signal-received": StopCause.SIGNAL,
    "solib-event": StopCause.LIBRARIES,
    "exec": StopCause.EXEC,
}


def text_event(record: mi.Stream) -> NativeLog | NativeOften | NativeConsole | None:
    """The event of printed text: of a breakpoint, or for the user; None for gdb's own messages.

    Raises ProtocolError for a line of ours that cannot be read.
    """
    for mark, event in ((_LOG_MARK, NativeLog), (_OFTEN_MARK, NativeOften)):
        if record.channel == "log" and record.text.startswith(mark):
            try:
                number, what = json.loads(record.text.removeprefix(mark))
                return event(int(number), what)
            except (TypeError, ValueError, RecursionError) as error:
                raise ProtocolError(f"a breakpoint printed {record.text[:200]!r}") from error
    return NativeConsole(record.text) if record.channel == "target" else None


def stop_event(
    payload: mi.Results, threads: dict[int, int], interrupt: str | None = None
) -> NativeStopped | NativeExited:
    """The event of a ``*stopped`` record; ``threads`` has the OS thread ids by gdb's numbers.

    ``interrupt`` is the signal by which the target was to be stopped for us.
    Raises ProtocolError for a record with other fields than gdb writes.
    """
    reason = payload.text("reason", which=0) or ""
    if reason.startswith("exited"):
        code = payload.text("exit-code")
        if code is not None and not _OCTAL.fullmatch(code):
            raise ProtocolError(f"gdb wrote exit-code={code[:100]!r}")
        return NativeExited(
            code=int(code, 8) if code else (0 if reason == "exited-normally" else None),
            signal=payload.text("signal-name"),
        )
    gdb_thread = payload.number("thread-id") if payload.text("thread-id") != "all" else None
    watched = _watched(payload)
    own = watched[-1].number if watched else payload.number("wpnum")  # the last is that of the step under way
    cause, signal = _CAUSES.get(reason, StopCause.OTHER), payload.text("signal-name")
    if cause is StopCause.SIGNAL and signal == interrupt:
        cause = StopCause.INTERRUPTED
    return NativeStopped(
        cause=cause,
        thread=threads.get(gdb_thread) if gdb_thread is not None else None,
        gdb_thread=gdb_thread,
        pc=payload.results("frame").address("addr"),
        gdb_breakpoint=payload.number("bkptno") or own,
        signal=signal,
        signal_meaning=payload.text("signal-meaning"),
        watched=watched,
        words=reason,
    )


def _watched(payload: mi.Results) -> tuple[WatchedValue, ...]:
    """The watchpoints that were triggered, in the order of gdb, each with its values.

    MI has the values beside the watchpoints, not in them. With watchpoints of several kinds it is not known which value
    belongs to which, and none is given.
    """
    kinds = [name for name in _WATCHPOINTS if name in payload]
    points = [point for name in kinds for point in payload.all_results(name)]
    values = payload.all_results("value")
    if len(kinds) > 1 or len(values) != len(points):
        values = [mi.Results({})] * len(points)
    return tuple(
        WatchedValue(
            point.number("number") or 0,
            point.text("exp") or "",
            value.text("old"),
            value.text("new") if "new" in value else value.text("value"),
        )
        for point, value in zip(points, values, strict=True)
    )
