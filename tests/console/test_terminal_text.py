"""Whatever names of other programs hold: no text for people steers the terminal, or has a line that is not ours."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import signal
import string
import subprocess
import sys
import types
import typing
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualdbg.cli import main as entry
from dualdbg.cli import process_table
from dualdbg.cli.commands import doctor, libs, resolve
from dualdbg.console import printer, reports
from dualdbg.console.printer import Printer
from dualdbg.console.style import Style
from dualdbg.model import Notice, PythonFrame
from dualdbg.snapshot.facts import Failure, ProcessReport
from dualdbg.snapshot.linux.processes import PythonProcess
from dualdbg.snapshot.report.finding import Finding
from dualdbg.snapshot.report.movement import Movement
from dualdbg.stack_listing import StackListing
from dualdbg.symbols.callables.resolved import Resolved
from dualdbg.symbols.gdb_feed.dependencies import Graph
from dualdbg.system.terminal_text import visible, visible_text
from dualdbg.target.doctor import Finding as DoctorFinding
from dualdbg.trace.summary import Summary
from tests import support, warm

# Everything that a terminal may take for more than a letter, with some letters between.
CONTROLS = "".join(map(chr, (*range(32), *range(0x7F, 0xA0)))) + "\u202e\u2066\u2028\u061c"
NASTY = st.text(st.sampled_from(CONTROLS + string.ascii_letters + "[;é中 "), max_size=12)
LATER = {"Summary": Summary}  # what reports are made of that is imported when there is one
STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type of our own reports: every text in them is nasty."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in (str, Any):
        return NASTY
    if kind is type(None) or kind is None:
        return st.none()
    if kind is bool:
        return st.booleans()
    if kind in (int, float):
        return st.integers(0, 5).map(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if origin in (typing.Union, types.UnionType):
        return st.one_of([of(argument) for argument in arguments])
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(of(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(of, arguments))
    if origin is Counter:
        return st.dictionaries(of(arguments[0]), st.integers(0, 5), max_size=2).map(Counter)
    if origin is not None and arguments:  # a mapping
        return st.dictionaries(of(arguments[0]), of(arguments[1]), max_size=2)
    if kind is printer.Value:  # it contains itself
        language = of(printer.Language)
        return st.builds(kind, NASTY, NASTY, NASTY, language, data=st.none(), children=st.none())
    hints = get_type_hints(kind, localns=LATER)
    return st.builds(kind, **{field.name: of(hints[field.name]) for field in dataclasses.fields(kind)})


def shallow(kind: Any) -> st.SearchStrategy[Any]:
    """The same, without what contains itself."""
    if kind is reports.OfProcess:
        return st.builds(reports.OfProcess, st.integers(1, 3), st.booleans(), shallow(Notice))
    hints = get_type_hints(kind, localns=LATER)
    if "children" in hints or kind in (reports.ValueReport, reports.VariablesReport):
        value = of(printer.Value)
        rest = {name: value if name == "value" else NASTY for name in hints if name != "values"}
        more = {"values": st.lists(value, max_size=2).map(tuple)} if "values" in hints else {}
        return st.builds(kind, **rest, **more)
    return of(kind)


@pytest.mark.parametrize("kind", printer._RENDERERS, ids=lambda kind: kind.__name__)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_report_steers_the_terminal(kind: type, data: st.DataObject) -> None:
    report = data.draw(shallow(kind))
    line = data.draw(st.one_of(st.none(), NASTY))
    text = Printer(Style(data.draw(st.sampled_from([None, 40]))), lambda file, number: line).render(report)
    assert not STEERS.search(text)


ROWS = {
    reports.ThreadsReport: "threads",
    reports.LibrariesReport: "libraries",
    reports.ProcessesReport: "processes",
}


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_no_name_adds_a_row(kind: type, data: st.DataObject) -> None:
    report = data.draw(of(kind))
    rows = getattr(report, ROWS[kind])
    assert Printer(Style()).render(report).count("\n") == (len(rows) or kind is reports.LibrariesReport)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(of(ProcessReport), min_size=1, max_size=2), of(Finding), of(Movement), of(Failure), st.booleans()
)
def test_no_listing_of_stacks_steers_the_terminal(
    rows: list[ProcessReport], finding: Finding, movement: Movement, failure: Failure, every: bool
) -> None:
    listing = StackListing(Style(), every)
    rows = [dataclasses.replace(row, threads=tuple(quiet(thread) for thread in row.threads)) for row in rows]
    for text in (
        listing.processes(rows, folded=every),
        listing.findings([finding]),
        listing.movements([movement]),
        listing.failure(failure),
    ):
        assert not STEERS.search(text)


def quiet(thread: Any) -> Any:
    """Locals belong to frames that are there."""
    return dataclasses.replace(
        thread, locals={at: rows for at, rows in thread.locals.items() if at < len(thread.stack.frames)}
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(of(PythonProcess), min_size=1, max_size=3))
def test_no_process_has_more_than_its_row(processes: list[PythonProcess]) -> None:
    text = process_table.table(processes, Style())
    assert not STEERS.search(text)
    assert text.count("\n") == 1 + len(processes) + len(
        {visible(row.refusal) for row in processes if row.refusal}
    )


@settings(max_examples=25, deadline=None)
@given(of(Graph), of(Resolved), of(DoctorFinding), NASTY, NASTY)
def test_no_other_command_steers_the_terminal(
    graph: Graph, resolved: Resolved, finding: DoctorFinding, message: str, hint: str
) -> None:
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        entry.tell(message, hint)
    for text in (
        libs.as_text(graph),
        resolve.as_text(resolved),
        doctor._line(finding, Style()),
        told.getvalue(),
    ):
        assert not STEERS.search(text)
    assert told.getvalue().startswith("dualdbg: ") or not message


@given(NASTY)
def test_a_line_stays_as_wide_as_it_was(text: str) -> None:
    assert len(visible(text)) == len(text) and "\n" not in visible(text)
    assert visible_text(text).count("\n") == text.count("\n")
    assert visible("plain ünïcode 中") == visible_text("plain ünïcode 中") == "plain ünïcode 中"


PROGRAM = """
import ctypes, sys
ctypes.CDLL(None).prctl(15, b"\\x1b]0;x\\x07\\nfoo", 0, 0, 0)  # PR_SET_NAME
exec(compile("def f():\\n sys.stdin.read(1)\\n", "a\\x1b[2J\\nb.py", "exec"))
print("ready", flush=True)
f()
"""


@pytest.mark.parametrize(
    "words",
    [
        ["ps"],
        ["stacks", "PID"],
        ["stacks", "PID", "--diagnose"],
        ["attach", "PID", "-x", "threads", "-x", "bt", "--batch"],
    ],
    ids=" ".join,
)
def test_a_real_process_with_such_names(tmp_path: Path, words: list[str]) -> None:
    script = tmp_path / "program\x1b[2J\nb.py"
    script.write_text(PROGRAM)
    program = subprocess.Popen(
        [sys.executable, script, "\x1b]0;title\x07", "a\nb"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert program.stdout is not None and program.stdout.readline() == b"ready\n"
        done = warm.run(
            [sys.executable, "-m", "dualdbg", *(word.replace("PID", str(program.pid)) for word in words)],
            cwd=support.ROOT,
        )
    finally:
        program.send_signal(signal.SIGKILL)
        program.communicate()
    said = (done.stdout + done.stderr).decode()
    assert "program␛[2J␊b.py" in said or "␛]0;x␇␊foo" in said, said
    assert not STEERS.search(said)


def test_lines_are_read_of_the_file_as_it_is_called() -> None:
    seen = []

    def read(file: str, line: int) -> str:
        seen.append((file, line))
        return "x = '\x1b[2J'\n"

    frame = PythonFrame("f", "a\x1b.py", 3)
    text = Printer(Style(), read).render(reports.FrameReport(0, frame))
    assert seen == [("a\x1b.py", 3)]
    assert "a␛.py:3" in text and "x = '␛[2J'" in text
