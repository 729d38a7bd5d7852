"""Every event and report as JSON: the published schema accepts it, and its words are in it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from dualdbg.cli import json_lines
from dualdbg.console import reports
from dualdbg.model import (
    Breakpoint,
    BreakpointChanged,
    BreakpointKind,
    BreakpointSpec,
    BreakpointState,
    Detached,
    Exit,
    Exited,
    Language,
    Location,
    NativeFrame,
    Notice,
    Output,
    Progress,
    PythonFrame,
    Quality,
    Reason,
    Resumed,
    Role,
    SessionStarted,
    Stack,
    State,
    Stop,
    Stopped,
    Task,
    Tasks,
    TaskState,
    Thread,
    Value,
)
from dualdbg.trace.collector import Numbers, Times
from dualdbg.trace.python_lines import PythonLine
from dualdbg.trace.summary import Caller, Row, Summary
from tests.support import ROOT

NATIVE = NativeFrame(0, 0x7F00, "at::native::randn", "/lib/libtorch_cpu.so", role=Role.GLUE)
PYTHON = PythonFrame("<module>", "/home/ada/testdebug.py", 3, entry=True)
THREAD = Thread(7, "python", "MainThread", True, False, "main at a.py:3")
TASK = Task(
    *(0x30, "Task-1", "main", TaskState.WAITING, (PYTHON,), 0x40, "uvloop.Loop", 7),
    *("gather of 2", (0x50,), 1, "gather", (0x60,), "not all of it"),
)
SPEC = BreakpointSpec("randn", BreakpointKind.OPERATOR, "randn")
BREAKPOINT = Breakpoint(1, SPEC, BreakpointState.VERIFIED, (Location("f", "/lib/l.so", 0x10),), hit_count=2)
VALUE = Value("x", "int", "3", Language.NATIVE, address=0x20, data={"shape": [2, 3]})
STACK = Stack(7, (NATIVE, PYTHON), Quality.PARTIAL, "cut short")
STOP = Stop(4, Language.NATIVE, Reason.BREAKPOINT, THREAD, NATIVE, (1,), None, 2.31)

_LINE = PythonLine("step", "/home/ada/a.py", 3)
TRACED = Summary(
    (
        Row(
            *(
                "copy_",
                "libtorch_cpu.so",
                3,
                None,
                3,
                Counter({Caller(_LINE, "at::copy_"): 2, Caller(None, None): 1}),
            ),
            numbers={"size": Numbers(3, 1, 4, 8)},
            times=Times(2, 0.25, 0.2),
            caller_times={Caller(_LINE, "at::copy_"): Times(2, 0.25, 0.2)},
            untimed=("another probe is there",),
        ),
        Row("loops", None, 7, "it was off", is_looped=True),
        Row("tiny", "lib.so", None, "shorter than the jump"),
    ),
    1.25,
    ("nosuch",),
)

EXAMPLES: list[reports.Report] = [
    SessionStarted(1, "3.11.7", "13.1"),
    Stopped(STOP),
    Stopped(Stop(5, Language.PYTHON, Reason.EXCEPTION, THREAD, None, description="ValueError: no")),
    Resumed(5),
    BreakpointChanged(BREAKPOINT),
    Output("stdout", "hello\n"),
    Exited(Exit(code=3)),
    Exited(Exit(signal=9)),
    Exited(Exit()),
    Detached(1),
    Notice("info", "by the way"),
    Notice("warning", "careful", "do this"),
    Notice("error", "broken", "mend it"),
    Progress("reading symbols", fraction=0.5),
    reports.StackReport(STACK, reports.numbered(STACK), 0, 2),
    reports.FrameReport(1, PYTHON),
    reports.ValueReport("x", VALUE),
    reports.VariablesReport("locals", (VALUE,), "No locals."),
    reports.ThreadsReport((THREAD,), 7),
    reports.TasksReport(
        Tasks((TASK, replace(TASK, state=TaskState.RUNNING, thread=None)), ("one left out",)), (TASK,)
    ),
    reports.BreakpointsReport((BREAKPOINT,)),
    reports.SourceReport("/home/ada/a.py", 1, ("import torch", ""), 1),
    reports.TraceReport(TRACED),
    reports.TraceReport(Summary((), 0.0)),
    reports.LibrariesReport((reports.Mapped(0x10, 0x20, "/lib/l.so"),)),
    reports.ProcessChanged(2, 12, "fork of 11, worker", "joined"),
    reports.ProcessesReport((reports.ProcessRow(1, 11, "", State.RUNNING),), 1),
    reports.TextReport("text\n"),
    reports.ErrorReport("broken", "mend it"),
]


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    text = (ROOT / "docs" / "events.schema.json").read_text()
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    return jsonschema.Draft202012Validator(json.loads(text))


def parsed(report: reports.Report) -> dict[str, Any]:
    line = json_lines.line(report)
    assert line.endswith("\n") and "\n" not in line[:-1]
    assert line.isascii()
    event: dict[str, Any] = json.loads(line)
    return event


@pytest.mark.parametrize("report", EXAMPLES, ids=lambda report: type(report).__name__)
def test_the_schema_knows_every_event(
    report: reports.Report, schema: jsonschema.Draft202012Validator
) -> None:
    schema.validate(parsed(report))


def test_every_kind_of_event_has_an_example() -> None:
    assert {type(report) for report in EXAMPLES} == set(json_lines._EVENTS)


def test_the_schema_describes_no_event_that_is_never_sent(schema: jsonschema.Draft202012Validator) -> None:
    described = {row["$ref"].rpartition("event-")[2] for row in schema.schema["oneOf"]}
    assert described == {parsed(report)["event"] for report in EXAMPLES}


def test_the_schema_names_every_field(schema: jsonschema.Draft202012Validator) -> None:
    for report in EXAMPLES:
        event = parsed(report)
        described = schema.schema["$defs"][f"event-{event['event']}"]["properties"]
        assert set(event) == set(described), event["event"]


def test_an_event_of_one_of_several_processes_names_it(schema: jsonschema.Draft202012Validator) -> None:
    event = parsed(reports.OfProcess(2, True, Stopped(STOP)))
    schema.validate(event)
    assert (event["event"], event["process"]) == ("stopped", 2)


def test_a_wrong_event_is_refused(schema: jsonschema.Draft202012Validator) -> None:
    event = parsed(Stopped(STOP))
    for spoilt in ({**event, "reason": "boredom"}, {**event, "event": "halted"}, {"event": "stopped"}):
        assert not schema.is_valid(spoilt)


def test_a_stop_has_the_fields_of_the_scripted_interface() -> None:
    event = parsed(Stopped(STOP))
    assert event["event"] == "stopped"
    assert (event["origin"], event["reason"], event["breakpoints"]) == ("native", "breakpoint", [1])
    assert (event["thread"]["tid"], event["thread"]["name"], event["seconds"]) == (7, "python", 2.31)
    frame = event["frame"]
    assert (frame["kind"], frame["function"], frame["glue"]) == ("native", "at::native::randn", True)
    assert (frame["library"], frame["address"], frame["line"]) == ("/lib/libtorch_cpu.so", "0x7f00", None)


def test_a_python_frame_has_no_library_and_no_address() -> None:
    frame = json_lines.frame_to_json(PYTHON)
    assert frame is not None
    assert (frame["kind"], frame["library"], frame["address"]) == ("python", None, None)
    assert (frame["file"], frame["line"]) == ("/home/ada/testdebug.py", 3)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("gr\udcc3\udcb6\udcc3\udc9fe.py", "größe.py"),  # UTF-8 that the C locale could not decode
        ("bad\udcffname.py", "bad\\xffname.py"),
        ("half \ud800 a letter", "half ? a letter"),
        ("größe 😀 \x1b", "größe 😀 \x1b"),
    ],
)
def test_whatever_bytes_a_name_has_the_line_is_valid_unicode(text: str, sent: str) -> None:
    event = parsed(Output("stdout", text))
    assert event["text"] == sent
    event["text"].encode("utf-8")
