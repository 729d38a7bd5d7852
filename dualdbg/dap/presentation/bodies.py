"""Pure: from the model's stops, frames, threads and breakpoints to the bodies that the protocol has for them.

Here a report becomes text for an editor. ``console/printer.py`` does the same for the prompt, ``cli/json_lines.py``
for ``--json``. Nothing here looks at a file, a process or the session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from ...console.names import computed_text
from ...model import (
    Breakpoint,
    BreakpointKind,
    BreakpointState,
    Frame,
    Language,
    Location,
    NativeFrame,
    PythonFrame,
    Reason,
    Role,
    Stop,
    Thread,
)
from ...protocol import dap_types as dap
from ..client.conventions import Client
from ..client.wording import for_an_editor

UNKNOWN_CODE = -1  # of a program of which nobody can tell how it ended

_REASONS = {
    Reason.ENTRY: "entry",
    Reason.BREAKPOINT: "breakpoint",
    Reason.STEP: "step",
    Reason.GOTO: "goto",
    Reason.PAUSE: "pause",
    Reason.EXCEPTION: "exception",
    Reason.SIGNAL: "exception",
}

# The specification's words for stops at breakpoints of these kinds.
_BREAKPOINT_REASONS = {
    BreakpointKind.OPERATOR: "function breakpoint",
    BreakpointKind.FUNCTION: "function breakpoint",
    BreakpointKind.PYTHON_FUNCTION: "function breakpoint",
    BreakpointKind.COMPILED_LINE: "function breakpoint",
    BreakpointKind.PRESET: "function breakpoint",
    BreakpointKind.ADDRESS: "instruction breakpoint",
    BreakpointKind.DATA: "data breakpoint",
    BreakpointKind.WATCH: "data breakpoint",
    BreakpointKind.PYTHON_WATCH: "data breakpoint",
    BreakpointKind.THROW: "exception",
    BreakpointKind.CATCH: "exception",
    BreakpointKind.RAISE: "exception",
    BreakpointKind.UNCAUGHT: "exception",
    BreakpointKind.SIGNAL: "exception",
}

_DESCRIPTIONS = {
    "entry": "Paused on entry",
    "breakpoint": "Paused on breakpoint",
    "function breakpoint": "Paused on function breakpoint",
    "instruction breakpoint": "Paused on instruction breakpoint",
    "data breakpoint": "Paused on data breakpoint",
    "step": "Paused on step",
    "goto": "Paused after goto",
    "pause": "Paused",
    "exception": "Paused on exception",
}

_IS_OFF = "is off: remove it and set it again"  # a breakpoint, by the console or by its condition
BOUNDARY = {Language.PYTHON: "called from Python", Language.NATIVE: "called from C/C++"}


def stopped(stop: Stop, hit: list[Breakpoint], ids: list[int]) -> dap.StoppedEventBody:
    """The body of the one ``stopped`` event of a stop.

    ``hit`` are the breakpoints that it names, ``ids`` the client's numbers for them.
    """
    reason = _REASONS[stop.reason]
    if stop.reason is Reason.BREAKPOINT and hit:
        reason = _BREAKPOINT_REASONS.get(hit[0].spec.kind, reason)
    body: dap.StoppedEventBody = {
        "reason": reason,
        "description": _DESCRIPTIONS[reason],
        "threadId": stop.thread.tid,
        "allThreadsStopped": True,
        "preserveFocusHint": False,
    }
    if stop.reason is Reason.SIGNAL:
        body["description"] = "Paused on signal"
    if stop.description:
        body["text"] = stop.description
    if reason == "exception" and stop.origin is Language.PYTHON and stop.description:
        kind, _, message = stop.description.partition(": ")
        body["text"], body["description"] = kind, message
    if ids:
        body["hitBreakpointIds"] = ids
    return body


def stopped_one_by_one(body: dap.StoppedEventBody, tids: list[int]) -> list[dap.StoppedEventBody]:
    """The same stop as an event for each thread: the one that it is about first, then the others of ``tids``."""
    others: list[dap.StoppedEventBody] = [
        {
            "reason": "pause",
            "description": _DESCRIPTIONS["pause"],
            "threadId": tid,
            "allThreadsStopped": False,
            "preserveFocusHint": True,
        }
        for tid in tids
        if tid != body.get("threadId")
    ]
    return [{**body, "allThreadsStopped": False}, *others]


def thread(one: Thread) -> dap.Thread:
    """A thread, by its name in Python, or else in the system."""
    return {"id": one.tid, "name": one.python_name or one.name}


def boundary(id: int, above: Frame, below: Frame) -> dap.StackFrame:
    """The label between two neighbours of a stack of different languages (``below`` called ``above``)."""
    return {"id": id, "name": BOUNDARY[below.language], "line": 0, "column": 0, "presentationHint": "label"}


def frame(id: int, one: Frame, source: dap.Source | None, line: int | None, client: Client) -> dap.StackFrame:
    """One frame; ``source`` and ``line`` as the client is to show them."""
    computed = computed_text(one)
    body: dap.StackFrame = {
        "id": id,
        "name": f"{frame_name(one)} [{computed}]" if computed else frame_name(one),
        "line": client.line(line) if source is not None and line else 0,
        "column": client.column(1) if source is not None and line else 0,
    }
    if source is not None:
        body["source"] = source
    if isinstance(one, PythonFrame) and one.columns and body["line"]:
        body["column"], body["endColumn"] = (client.column(column) for column in one.columns)
        body["endLine"] = body["line"]
    if one.role is not Role.USER:
        body["presentationHint"] = "subtle"
    if isinstance(one, NativeFrame):
        body["instructionPointerReference"] = f"{one.pc:#x}"
        if one.library:
            body["moduleId"] = one.library
    return body


def frame_name(one: Frame) -> str:
    """What a frame is called."""
    return f"{one.label} [inlined]" if isinstance(one, NativeFrame) and one.inlined else one.label


def formatted_name(one: Frame, wanted: Mapping[str, Any]) -> str:
    """A frame's name with what the request's ``format`` asks for."""
    name = frame_name(one)
    if wanted.get("module") and isinstance(one, NativeFrame) and one.library:
        name = f"{PurePath(one.library).name}!{name}"
    if wanted.get("module") and isinstance(one, PythonFrame) and one.file:
        file = PurePath(one.file)
        module = file.parent.name if file.stem == "__init__" else file.stem
        name = module if name == "<module>" else f"{module}.{name}"
    if wanted.get("line") and one.line:
        name = f"{name} : {one.line}"
    return name


def breakpoint(
    row: Breakpoint, client: Client, source: Callable[[str], dap.Source], *, pending: str = ""
) -> dap.Breakpoint:
    """A breakpoint of the table. ``source`` gives the source of a file; ``pending`` is the message while it waits."""
    verified = row.state is BreakpointState.VERIFIED and row.enabled
    body: dap.Breakpoint = {"id": row.id, "verified": verified}
    place = _first_place(row)
    if place is not None:
        if place.file is not None:
            body["source"] = source(place.file)
        if place.line is not None:
            body["line"] = client.line(place.line)
        if place.address is not None:
            body["instructionReference"] = f"{place.address:#x}"
    message = row.message or _what_it_waits_for(row, pending)
    if not row.enabled:
        message = _IS_OFF + (f"; {message}" if message else "")
    if message:
        body["message"] = for_an_editor(message)
    if not verified:
        waits = row.enabled and row.state is not BreakpointState.REJECTED
        body["reason"] = "pending" if waits else "failed"
    return body


def _what_it_waits_for(row: Breakpoint, pending: str) -> str:
    if row.state is BreakpointState.PENDING:
        return pending
    places = [place.function for place in row.locations if place.function]
    if row.spec.line is None and len(places) > 1:
        return f"{len(places)} places: {', '.join(dict.fromkeys(places))}"
    return ""


def _first_place(row: Breakpoint) -> Location | None:
    places = sorted(row.locations, key=lambda place: place.line is None)
    return places[0] if places else None


def exit_code(code: int | None, number: int | None) -> int:
    """The exit status as a shell would show it: 128 + n for a signal; UNKNOWN_CODE where nobody can tell."""
    if code is not None:
        return code
    return 128 + number if number is not None else UNKNOWN_CODE
