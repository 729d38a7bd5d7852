"""The text for people: what is in it, on a wide terminal, on one of 40 columns, and without colours."""

from __future__ import annotations

import io
import re

import pytest

from dualdbg.console import reports
from dualdbg.console.printer import Printer
from dualdbg.console.style import Style
from dualdbg.model import (
    Breakpoint,
    BreakpointChanged,
    BreakpointKind,
    BreakpointSpec,
    BreakpointState,
    Exit,
    Exited,
    Language,
    Location,
    NativeFrame,
    Notice,
    Progress,
    PythonFrame,
    Quality,
    Reason,
    Role,
    Stack,
    Stop,
    Stopped,
    Thread,
    Value,
)

LONG = "std::enable_if<c10::is_same<at::Tensor, int>::value, std::vector<int, std::allocator<int> > >::type::call_it"
FRAMES = (
    NativeFrame(0, 1, "at::native::randn", "/opt/torch/lib/libtorch_cpu.so"),
    NativeFrame(1, 2, LONG, "/opt/torch/lib/libtorch_cpu.so", role=Role.GLUE),
    NativeFrame(2, 3, "helper", "/opt/ext.so", "/src/some/where/deep/in/a/folder/helper.cpp", 12),
    NativeFrame(3, 4, "_PyEval_Vector", "/opt/libpython3.11.so", role=Role.PLUMBING),
    PythonFrame("<module>", "/src/testdebug.py", 3, entry=True),
)
THREAD = Thread(7, "python")
PLAIN = Printer(Style())


def stack(quality: Quality = Quality.FULL, note: str | None = None) -> reports.StackReport:
    whole = Stack(7, FRAMES, quality, note)
    return reports.StackReport(whole, reports.numbered(whole), selected=0)


def stop(**changes: object) -> Stopped:
    fields = {"epoch": 1, "origin": Language.NATIVE, "reason": Reason.BREAKPOINT, "thread": THREAD}
    return Stopped(Stop(**{**fields, "frame": FRAMES[0], "breakpoints": (2,), **changes}))  # type: ignore[arg-type]


def test_a_stack_says_the_language_of_each_frame_without_colours() -> None:
    lines = PLAIN.render(stack()).splitlines()
    assert lines[0] == ">#0 c++  at::native::randn  libtorch_cpu.so"
    assert lines[1].startswith(" #1 glue std::enable_if<")
    assert lines[2] == " #2 c++  helper  /src/some/where/deep/in/a/folder/helper.cpp:12"
    assert lines[3] == " #3 py   <module>  /src/testdebug.py:3"
    assert len(lines) == 4


def test_plumbing_has_no_number_and_changes_none() -> None:
    whole = Stack(7, FRAMES, Quality.FULL)
    everything = PLAIN.render(reports.StackReport(whole, reports.numbered(whole, all_frames=True)))
    assert "    int  _PyEval_Vector" in everything
    assert " #3 py   <module>" in everything


def test_quality_and_note_are_shown_unless_full() -> None:
    assert "full" not in PLAIN.render(stack())
    shown = PLAIN.render(stack(Quality.PARTIAL, "the native stack ends early"))
    assert shown.endswith("This stack is partial: the native stack ends early\n")


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    printer = Printer(Style(columns))
    for report in (stack(), stop(frame=FRAMES[1]), stop(frame=FRAMES[2])):
        for line in printer.render(report).splitlines():
            assert len(line) <= columns, line


def test_at_40_columns_the_place_has_a_line_of_its_own() -> None:
    text = Printer(Style(40)).render(stack())
    assert "#0 c++  at::native::randn\n" in text
    assert re.search(r"^ +libtorch_cpu\.so$", text, re.MULTILINE)
    assert re.search(r"^ +\.\.\..*/helper\.cpp:12$", text, re.MULTILINE)
    assert "std::enable_if<...>::...call_it\n" in text


def test_colours_only_add_control_sequences() -> None:
    coloured = Printer(Style(None, colour=True)).render(stack())
    assert "\x1b[2m" in coloured  # glue is dim
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == PLAIN.render(stack())


def test_a_stop_stands_apart_and_shows_its_line() -> None:
    printer = Printer(Style(), lambda file, line: "    d = torch.randn(2, 3)\n" if line == 3 else None)
    text = printer.render(stop(origin=Language.PYTHON, frame=FRAMES[4]))
    assert text == (
        "\n* Breakpoint 2: Python, thread 7 python\n  <module>  /src/testdebug.py:3\n"
        "  3  d = torch.randn(2, 3)\n"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"breakpoints": (1, 2)}, "Breakpoints 1, 2: native"),
        ({"breakpoints": (), "reason": Reason.STEP}, "Step: native"),
        ({"breakpoints": (), "reason": Reason.PAUSE, "origin": Language.PYTHON}, "Paused: Python"),
        (
            {"breakpoints": (), "reason": Reason.SIGNAL, "description": "SIGSEGV, Segmentation fault"},
            "SIGSEGV",
        ),
        ({"frame": None}, "Breakpoint 2"),
    ],
)
def test_why_it_stopped(changes: dict[str, object], words: str) -> None:
    assert words in PLAIN.render(stop(**changes))


def test_the_end_of_the_program() -> None:
    assert PLAIN.render(Exited(Exit(code=3))) == "\nThe program ended with status 3\n"
    assert "SIGKILL" in PLAIN.render(Exited(Exit(signal=9)))
    assert "signal 200" in PLAIN.render(Exited(Exit(signal=200)))
    assert "with what status is not known" in PLAIN.render(Exited(Exit()))


def test_errors_look_the_same_everywhere() -> None:
    expected = "dualdbg: broken\n  mend it\n"
    assert PLAIN.render(reports.ErrorReport("broken", "mend it")) == expected
    assert PLAIN.render(Notice("error", "broken", "mend it")) == expected
    assert PLAIN.render(Notice("warning", "careful")) == "warning: careful\n"


def breakpoint_(state: BreakpointState, *locations: Location, message: str | None = None) -> Breakpoint:
    spec = BreakpointSpec("randn", BreakpointKind.OPERATOR, "randn")
    return Breakpoint(1, spec, state, locations, message=message)


def test_breakpoints_tell_where_they_are() -> None:
    place = Location("randn", "/lib/libtorch_cpu.so", 0x10)
    line = Location(None, None, None, "/src/a.py", 3)
    texts = [
        PLAIN.render(BreakpointChanged(breakpoint_(BreakpointState.PENDING))),
        PLAIN.render(BreakpointChanged(breakpoint_(BreakpointState.VERIFIED, place))),
        PLAIN.render(BreakpointChanged(breakpoint_(BreakpointState.VERIFIED, place, place))),
        PLAIN.render(BreakpointChanged(breakpoint_(BreakpointState.VERIFIED, line))),
        PLAIN.render(BreakpointChanged(breakpoint_(BreakpointState.REJECTED, message="no such file"))),
    ]
    assert texts == [
        "Breakpoint 1 (randn) waits for its code to be loaded\n",
        "Breakpoint 1 (randn): libtorch_cpu.so\n",
        "Breakpoint 1 (randn): 2 places in libtorch_cpu.so\n",
        "Breakpoint 1 (randn): /src/a.py:3\n",
        "Breakpoint 1 (randn): rejected: no such file\n",
    ]


def test_the_list_of_breakpoints() -> None:
    assert PLAIN.render(reports.BreakpointsReport(())) == "No breakpoints.\n"
    row = breakpoint_(BreakpointState.VERIFIED, Location("randn", "/lib/libtorch_cpu.so", 0x10))
    text = PLAIN.render(reports.BreakpointsReport((row,)))
    assert text == "1   randn: verified\n      0x10 randn in libtorch_cpu.so\n"


def test_a_breakpoint_that_may_not_stop_is_not_called_verified() -> None:
    row = breakpoint_(BreakpointState.UNCERTAIN, Location("f", "/x.so", 0x10), message="it may never stop")
    assert PLAIN.render(reports.BreakpointsReport((row,))) == (
        "1   randn: uncertain\n      0x10 f in x.so\n      it may never stop\n"
    )
    assert PLAIN.render(BreakpointChanged(row)) == "Breakpoint 1 (randn): x.so (it may never stop)\n"


def test_a_thread_has_each_of_its_names_once() -> None:
    for name, python_name, shown in (
        ("python", None, "python"),
        ("python", "MainThread", "python (MainThread)"),
        ("worker", "worker", "worker"),
        ("Thread-1 (acqui", "Thread-1 (acquire)", "Thread-1 (acquire)"),  # as 3.14 does it
    ):
        text = PLAIN.render(reports.ThreadsReport((Thread(7, name, python_name),), None))
        assert text.strip() == f"thread 7 {shown}"


def test_values_and_source() -> None:
    value = Value("x", "int", "3", Language.NATIVE)
    assert PLAIN.render(reports.ValueReport("x", value)) == "3\n"
    assert PLAIN.render(reports.VariablesReport("locals", (value,), "None.")) == "int x = 3\n"
    assert PLAIN.render(reports.VariablesReport("locals", (), "No locals.")) == "No locals.\n"
    source = reports.SourceReport("/src/a.py", 9, ("a", "", "c"), 11)
    assert PLAIN.render(source) == "  9  a\n 10\n>11  c\n"


def test_progress_is_one_line_and_its_end_is_none() -> None:
    assert (
        PLAIN.render(Progress("reading symbols of libtorch_cpu")) == "... reading symbols of libtorch_cpu\n"
    )
    assert PLAIN.render(Progress("reading", done=True)) == ""


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_that_want_them() -> None:
    assert Style.of(Screen(), {"TERM": "xterm"}).colour
    assert not Style.of(Screen(), {"TERM": "xterm", "NO_COLOR": "1"}).colour
    assert not Style.of(Screen(), {"TERM": "dumb"}).colour
    assert Style.of(io.StringIO(), {"TERM": "xterm"}) == Style(None, colour=False)
