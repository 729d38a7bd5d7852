"""Events and reports as JSON objects, one a line: the published form of docs/json.md. Pure.

Here a report becomes text for a program; ``console/printer.py`` does that for people.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from ..console.reports import (
    BreakpointsReport,
    ErrorReport,
    FrameReport,
    LibrariesReport,
    Mapped,
    OfProcess,
    ProcessChanged,
    ProcessesReport,
    Report,
    SourceReport,
    StackReport,
    TasksReport,
    TextReport,
    ThreadsReport,
    TraceReport,
    ValueReport,
    VariablesReport,
)
from ..model import (
    Breakpoint,
    BreakpointChanged,
    Detached,
    Evaluation,
    Exited,
    Frame,
    Location,
    NativeFrame,
    Notice,
    Output,
    Progress,
    Resumed,
    Role,
    SessionStarted,
    Stopped,
    Task,
    Thread,
    Value,
)

Json = dict[str, Any]


def line(report: Report) -> str:
    """The report as one line of ASCII, whatever the locale; valid Unicode, whatever bytes a file name has."""
    text = json.dumps(to_json(report), ensure_ascii=True)
    if "\\ud" in text:  # a surrogate: half of a letter beyond U+FFFF, or a byte that the locale cannot decode
        text = json.dumps(_decoded(to_json(report)), ensure_ascii=True)
    return text + "\n"


def _decoded(data: Any) -> Any:
    """The text, with bytes that came as surrogates (PEP 383) decoded as UTF-8, or written as ``\\xff``."""
    if isinstance(data, str):
        raw = "".join(
            letter if "\udc80" <= letter <= "\udcff" or not _is_surrogate(letter) else "?" for letter in data
        )
        return raw.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(data, dict):
        return {key: _decoded(value) for key, value in data.items()}
    return [_decoded(value) for value in data] if isinstance(data, list) else data


def _is_surrogate(letter: str) -> bool:
    return "\ud800" <= letter <= "\udfff"


def to_json(report: Report) -> Json:
    if isinstance(report, OfProcess):
        return {**to_json(report.report), "process": report.number}
    if isinstance(report, Notice) and report.level == "error":
        return {"event": "error", "message": report.message, "hint": report.hint}
    name, fields = _EVENTS[type(report)]
    return {"event": name, **fields(report)}


def frame_to_json(frame: Frame | None) -> Json | None:
    """The JSON object of one frame, null without a frame. ``address`` is the frame's pc in hexadecimal."""
    if frame is None:
        return None
    native = isinstance(frame, NativeFrame)
    return {
        "kind": frame.language.value,
        "function": frame.function,
        "file": frame.file,
        "line": frame.line,
        "library": frame.library if isinstance(frame, NativeFrame) else None,
        "address": _address(frame.pc) if isinstance(frame, NativeFrame) else None,
        "offset": _address(frame.offset) if isinstance(frame, NativeFrame) else None,
        "glue": frame.role is Role.GLUE,
        "role": frame.role.value,
        "inlined": frame.inlined if native else False,  # type: ignore[union-attr]
        "source_language": frame.source_language if isinstance(frame, NativeFrame) else None,
        "computes": [asdict(line) for line in frame.computes],
    }


def _address(number: int | None) -> str | None:
    return None if number is None else f"{number:#x}"


def _thread(thread: Thread) -> Json:
    return {
        "tid": thread.tid,
        "name": thread.name,
        "python_name": thread.python_name,
        "holds_gil": thread.holds_gil,
        "waits_for_gil": thread.waits_for_gil,
        "state": thread.state,
    }


def task_to_json(task: Task) -> Json:
    """The JSON object of one task. Tasks are named by ``id``, the address of their object in hexadecimal."""
    return {
        "id": _address(task.address),
        "name": task.name,
        "coroutine": task.coroutine,
        "state": task.state.value,
        "thread": task.thread,
        "loop": {"type": task.loop_type, "address": _address(task.loop)},
        "waits_for": task.waits_for,
        "awaits": [_address(one) for one in task.awaits],
        "other_futures": task.other_futures,
        "through": task.through,
        "awaited_by": [_address(one) for one in task.awaited_by],
        "lock_holder": _address(task.lock_holder),
        "frames": [frame_to_json(frame) for frame in task.frames],
        "note": task.note,
    }


def _tasks(report: TasksReport) -> Json:
    return {"tasks": [task_to_json(task) for task in report.shown], "notes": list(report.tasks.notes)}


def _location(location: Location) -> Json:
    return {
        "function": location.function,
        "library": location.library,
        "address": _address(location.address),
        "file": location.file,
        "line": location.line,
        "inlined_in": location.inlined_in,
    }


def _breakpoint(breakpoint_: Breakpoint) -> Json:
    return {
        "id": breakpoint_.id,
        "spec": breakpoint_.spec.text,
        "language": breakpoint_.language.value,
        "state": breakpoint_.state.value,
        "message": breakpoint_.message,
        "locations": [_location(location) for location in breakpoint_.locations],
        "kind": breakpoint_.spec.kind.value,
        "enabled": breakpoint_.enabled,
        "hits": breakpoint_.hit_count,
        "temporary": breakpoint_.spec.temporary,
        "condition": breakpoint_.spec.condition,
        "evaluated": [
            {"in": _place_of(breakpoint_, one), "why": one.why_not} for one in breakpoint_.evaluations
        ],
    }


def _place_of(breakpoint_: Breakpoint, one: Evaluation) -> str:
    if one.why_not is None:
        return "process"
    return "nowhere" if breakpoint_.spec.counts else "gdb"


def _value(value: Value) -> Json:
    return {
        "name": value.name,
        "language": value.language.value,
        "type": value.type,
        "value": value.value,
        "address": _address(value.address),
        "data": value.data,
        "layout": value.layout,
        "own_repr": value.own_repr,
        "child_count": value.child_count,
        "children": None if value.children is None else [_value(child) for child in value.children],
    }


def _stopped(event: Stopped) -> Json:
    stop = event.stop
    return {
        "origin": stop.origin.value,
        "reason": stop.reason.value,
        "breakpoints": list(stop.breakpoints),
        "thread": _thread(stop.thread),
        "frame": frame_to_json(stop.frame),
        "seconds": stop.seconds,
        "epoch": stop.epoch,
        "description": stop.description,
        "result": None if stop.result is None else _value(stop.result),
    }


def _notice(event: Notice) -> Json:
    return {"level": event.level, "message": event.message, "hint": event.hint}


def _stack(report: StackReport) -> Json:
    return {
        "thread": report.stack.thread,
        "frames": [{**(frame_to_json(frame) or {}), "number": number} for number, frame in report.frames],
        "quality": report.stack.quality.value,
        "origin": report.stack.origin,
        "note": report.stack.note,
        "left_out": report.left_out,
    }


def _value_report(report: ValueReport) -> Json:
    return {"expression": report.expression, **_value(report.value)}


def _source(report: SourceReport) -> Json:
    return {
        "file": report.file,
        "first": report.first,
        "lines": list(report.lines),
        "current": report.current,
    }


def _processes(report: ProcessesReport) -> Json:
    rows = [
        {"number": row.number, "pid": row.pid, "title": row.title, "state": row.state.value}
        for row in report.processes
    ]
    return {"processes": rows, "current": report.current}


def _mapped(row: Mapped) -> Json:
    return {"start": _address(row.start), "end": _address(row.end), "path": row.path}


def _trace(report: TraceReport) -> Json:
    from ..console import trace_report

    return trace_report.to_json(report.summary)


_STREAMS = {"log": "console"}  # for a script, text of a log point is what dualdbg says

_EVENTS: dict[type, tuple[str, Callable[[Any], Json]]] = {
    SessionStarted: ("session", lambda e: {"pid": e.pid, "python": e.python, "gdb": e.gdb}),
    BreakpointChanged: ("breakpoint", lambda e: _breakpoint(e.breakpoint)),
    Stopped: ("stopped", _stopped),
    Resumed: ("resumed", lambda e: {"epoch": e.epoch}),
    Output: ("output", lambda e: {"stream": _STREAMS.get(e.stream, e.stream), "text": e.text}),
    Exited: ("exited", lambda e: {"code": e.exit.code, "signal": e.exit.signal}),
    Detached: ("detached", lambda e: {"pid": e.pid}),
    Notice: ("notice", _notice),
    Progress: ("progress", lambda e: {"what": e.what, "done": e.done, "fraction": e.fraction}),
    StackReport: ("stack", _stack),
    FrameReport: ("frame", lambda r: {"number": r.number, "frame": frame_to_json(r.frame)}),
    ValueReport: ("value", _value_report),
    VariablesReport: ("variables", lambda r: {"what": r.what, "variables": [_value(v) for v in r.values]}),
    ThreadsReport: (
        "threads",
        lambda r: {"threads": [_thread(thread) for thread in r.threads], "current": r.current},
    ),
    TasksReport: ("tasks", _tasks),
    BreakpointsReport: (
        "breakpoints",
        lambda r: {
            "breakpoints": [
                {**_breakpoint(b), "commands": list(r.actions.get(b.id, ()))} for b in r.breakpoints
            ]
        },
    ),
    LibrariesReport: ("libraries", lambda r: {"libraries": [_mapped(row) for row in r.libraries]}),
    SourceReport: ("source", _source),
    TraceReport: ("trace", _trace),
    ProcessChanged: (
        "process",
        lambda r: {"number": r.number, "pid": r.pid, "title": r.title, "state": r.state},
    ),
    ProcessesReport: ("processes", _processes),
    TextReport: ("output", lambda r: {"stream": "console", "text": r.text}),
    ErrorReport: ("error", lambda r: {"message": r.message, "hint": r.hint}),
}
