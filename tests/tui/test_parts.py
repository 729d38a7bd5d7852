"""The pure parts: words, marks, changes, places, rows of the panes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from rich.cells import cell_len

from dualdbg.errors import CommandError
from dualdbg.model import (
    Breakpoint,
    BreakpointKind,
    BreakpointSpec,
    BreakpointState,
    Exit,
    Frame,
    Language,
    Location,
    NativeFrame,
    PythonFrame,
    Quality,
    Reason,
    Role,
    Stack,
    State,
    Stop,
    Thread,
    Value,
)
from dualdbg.session.inspect.disassembly import Instruction as CodeRow
from dualdbg.system.terminal_text import visible, visible_text
from dualdbg.tui.model import breakpoint_marks
from dualdbg.tui.model.changes import Memory, changed, scope_of
from dualdbg.tui.model.goto_target import Spot, understand
from dualdbg.tui.model.looks import fit, letters_in, plain
from dualdbg.tui.model.machine_code import listing_of
from dualdbg.tui.model.source_text import coloured, read
from dualdbg.tui.model.status_text import status
from dualdbg.tui.panes.breakpoints import breakpoint_rows
from dualdbg.tui.panes.memory import bytes_a_line, memory_rows
from dualdbg.tui.panes.prompt import _breaks
from dualdbg.tui.panes.stack import Detail, Fold, stack_rows
from dualdbg.tui.panes.threads import thread_rows
from dualdbg.tui.panes.variables import Branch, branch_row
from dualdbg.tui.screens.picker import Candidate, age, candidate_rows

NATIVE = NativeFrame(0, 0x1000, "at::native::randn", "/lib/libtorch_cpu.so")
GLUE = NativeFrame(1, 0x2000, "at::_ops::randn::call", "/lib/libtorch_cpu.so", role=Role.GLUE)
GLUE2 = NativeFrame(
    2, 0x3000, "torch::autograd::THPVariable_randn", "/lib/libtorch_python.so", role=Role.GLUE
)
PLUMBING = NativeFrame(3, 0x4000, "_PyEval_EvalFrameDefault", "/bin/python", role=Role.PLUMBING)
PYTHON = PythonFrame("<module>", "/home/user/testdebug.py", 3)
FRAMES: tuple[Frame, ...] = (NATIVE, GLUE, GLUE2, PLUMBING, PYTHON)
STACK = Stack(7, FRAMES, Quality.FULL)


def lines(rows: list[object], width: int = 60) -> list[str]:
    return [plain(row.draw(width)).rstrip() for row in rows]  # type: ignore[attr-defined]


# -- the status line -------------------------------------------------------------------------------


def stop(origin: Language, reason: Reason, frame: Frame | None, **more: object) -> Stop:
    return Stop(1, origin, reason, Thread(7, "python"), frame, **more)  # type: ignore[arg-type]


def test_a_native_stop_in_words() -> None:
    there = stop(Language.NATIVE, Reason.BREAKPOINT, NATIVE, breakpoints=(2,))
    text = status(State.NATIVE_STOPPED, there, None, Thread(7, "python", holds_gil=False), True, 200)
    assert text == "stopped natively in at::native::randn, breakpoint 2, thread 7 holds no GIL, debugpy waits"


def test_a_python_stop_in_words() -> None:
    text = status(State.PYTHON_STOPPED, stop(Language.PYTHON, Reason.STEP, PYTHON), None, None, True, 200)
    assert text == "stopped in Python at testdebug.py:3, step, thread 7"


def test_too_little_room_drops_the_least_important_words() -> None:
    there = stop(Language.NATIVE, Reason.BREAKPOINT, NATIVE, breakpoints=(2,))
    text = status(State.NATIVE_STOPPED, there, None, None, True, 60)
    assert text == "stopped natively in at::native::randn, breakpoint 2"


@pytest.mark.parametrize(
    ("state", "exit", "words"),
    [
        (State.STARTING, None, "starting"),
        (State.RUNNING, None, "running: Ctrl-C pauses"),
        (State.EXITED, Exit(code=3), "the program ended with status 3"),
        (State.EXITED, Exit(signal=11), "the program was ended by SIGSEGV (Segmentation fault)"),
        (State.EXITED, Exit(), "the program ended; its status is not known"),
        (State.DETACHED, None, "detached: the program runs on without us"),
        (State.LOST, None, "gdb is gone; the target is lost"),
    ],
)
def test_without_a_stop(state: State, exit: Exit | None, words: str) -> None:
    assert status(state, None, exit, None, True, 200) == words


def test_a_signal_and_an_exception_say_what_they_are() -> None:
    crash = stop(Language.NATIVE, Reason.SIGNAL, NATIVE, description="SIGSEGV, Segmentation fault")
    assert "SIGSEGV, Segmentation fault" in status(State.NATIVE_STOPPED, crash, None, None, True, 200)


def test_a_stop_without_a_frame_is_said_too() -> None:
    text = status(State.NATIVE_STOPPED, stop(Language.NATIVE, Reason.PAUSE, None), None, None, True, 200)
    assert text.startswith("stopped natively in an unknown place, paused")


# -- the stack -------------------------------------------------------------------------------------


def test_the_binding_layer_is_folded_and_the_boundary_drawn() -> None:
    rows = stack_rows(STACK, Detail.FOLDED, frozenset(), 0)
    assert lines(rows) == [
        "▸#0 c++  at::native::randn libtorch_cpu.so",
        " ⋯  glue 2 frames of the binding layer",
        "── called by Python ────────────────────────────────────────",
        " #3 py   <module> /home/user/testdebug.py:3",
    ]
    assert isinstance(rows[1].thing, Fold)


def test_an_opened_fold_and_all_frames() -> None:
    opened = lines(stack_rows(STACK, Detail.FOLDED, frozenset({1}), 0))
    assert opened[1] == " #1 glue at::_ops::randn::call libtorch_cpu.so"
    every = lines(stack_rows(STACK, Detail.ALL, frozenset(), 0))
    assert any("_PyEval_EvalFrameDefault" in line and "int" in line for line in every)
    assert any(line.startswith(" #3 py") for line in every)


def test_the_selected_frame_is_never_folded_away() -> None:
    rows = stack_rows(STACK, Detail.FOLDED, frozenset(), 2)
    assert [row.key for row in rows if row.look == "selected"] == [("frame", 2)]


def test_a_stack_that_is_not_sure_says_so() -> None:
    partial = Stack(7, FRAMES, Quality.PARTIAL, "3 Python frames have no native frame")
    assert lines(stack_rows(partial, Detail.FOLDED, frozenset(), 0), 80)[-1].startswith(
        "This stack is partial: 3"
    )


@pytest.mark.parametrize("width", [10, 20, 28, 40, 80])
def test_frames_fit_the_width(width: int) -> None:
    for line in lines(stack_rows(STACK, Detail.ALL, frozenset(), 0), width):
        assert len(line) <= max(width, 18)


def test_languages_are_told_apart_without_colours() -> None:
    tags = [line.split()[1] for line in lines(stack_rows(STACK, Detail.GLUE, frozenset(), 0)) if "#" in line]
    assert tags == ["c++", "glue", "glue", "py"]


# -- threads, breakpoints, memory ------------------------------------------------------------------


def test_the_holder_of_the_gil_is_marked() -> None:
    threads = [Thread(7, "python", "MainThread", True, state="randn"), Thread(8, "worker", None, False, True)]
    first, second = lines(thread_rows(threads, 7))
    assert first == "▸7 GIL  MainThread (python) randn"
    assert second == " 8 wait worker"


def spec(
    text: str, kind: BreakpointKind, subject: str, line: int | None = None, **more: object
) -> BreakpointSpec:
    return BreakpointSpec(text, kind, subject, line, **more)  # type: ignore[arg-type]


BREAKPOINTS = (
    Breakpoint(
        1,
        spec("randn", BreakpointKind.OPERATOR, "randn", condition="n > 2"),
        BreakpointState.VERIFIED,
        (Location("at::native::randn", "/lib/libtorch_cpu.so", 0x1000),),
        hit_count=3,
    ),
    Breakpoint(
        2,
        spec("a.py:4", BreakpointKind.PYTHON_LINE, "a.py", 4),
        BreakpointState.VERIFIED,
        (Location(file="/home/user/a.py", line=5),),
        enabled=False,
    ),
    Breakpoint(3, spec("b.cpp:9", BreakpointKind.NATIVE_LINE, "b.cpp", 9), BreakpointState.PENDING),
    Breakpoint(4, spec("b.cpp:8", BreakpointKind.NATIVE_LINE, "b.cpp", 8), BreakpointState.UNCERTAIN),
)


def test_breakpoints_say_what_holds_of_them() -> None:
    assert lines(breakpoint_rows(BREAKPOINTS, frozenset()), 70) == [
        "▸● 1  randn  if n > 2, 3 hits",
        "▸○ 2  a.py:4  off",
        " ◌ 3  b.cpp:9  pending",
        " ◐ 4  b.cpp:8  uncertain",
    ]
    opened = lines(breakpoint_rows(BREAKPOINTS, frozenset({1})), 70)
    assert opened[1] == "     libtorch_cpu.so at::native::randn 0x1000"


def test_marks_of_a_file_and_of_machine_code() -> None:
    assert breakpoint_marks.marks_of(BREAKPOINTS, "/home/user/a.py") == {5: "disabled"}
    assert breakpoint_marks.marks_of(BREAKPOINTS, "/home/user/b.cpp") == {8: "uncertain", 9: "pending"}
    assert breakpoint_marks.marks_of(BREAKPOINTS, None) == {"0x1000": "enabled"}
    assert [one.id for one in breakpoint_marks.at(BREAKPOINTS, "/home/user/a.py", 5)] == [2]
    assert [one.id for one in breakpoint_marks.at(BREAKPOINTS, None, 0x1000)] == [1]
    assert breakpoint_marks.at(BREAKPOINTS, "/home/user/a.py", 6) == []


def test_a_breakpoint_on_a_line_is_of_the_language_of_the_file() -> None:
    assert breakpoint_marks.line_spec("/x/a.py", 3, False).kind is BreakpointKind.PYTHON_LINE
    assert breakpoint_marks.line_spec("/x/script", 3, True).kind is BreakpointKind.PYTHON_LINE
    assert breakpoint_marks.line_spec("/x/a.cpp", 3, False).kind is BreakpointKind.NATIVE_LINE


def test_memory_marks_what_changed() -> None:
    rows = memory_rows(0x1000, b"ABCDEFGHIJ", b"ABXDEFGHIJ", 8)
    assert lines(rows) == [
        "0x000000001000 41 42*43 44 45 46 47 48  ABCDEFGH",
        "0x000000001008 49 4a                    IJ",
    ]
    assert [bytes_a_line(width) for width in (30, 48, 80, 150)] == [4, 8, 16, 32]


# -- changes ---------------------------------------------------------------------------------------


def test_a_value_is_changed_when_the_last_stop_showed_another() -> None:
    memory = Memory()
    scope = scope_of(7, PYTHON, 1)
    memory.turn()
    memory.keep(scope, {("i",): "1", ("j",): "5"})
    memory.turn()
    last = memory.last(scope)
    assert changed(last, ("i",), "2")
    assert not changed(last, ("j",), "5")
    assert not changed(last, ("k",), "9")


def test_looking_twice_at_one_stop_keeps_the_marks() -> None:
    memory = Memory()
    memory.keep("scope", {("i",): "1"})
    memory.turn()
    memory.keep("scope", {("i",): "2"})
    memory.keep("scope", {("i",): "2"})
    assert changed(memory.last("scope"), ("i",), "2")


def test_two_frames_of_one_function_are_two_scopes() -> None:
    assert scope_of(7, PYTHON, 1) != scope_of(7, PYTHON, 2)
    assert scope_of(7, PYTHON, 1) != scope_of(8, PYTHON, 1)


def test_the_memory_does_not_grow_for_ever() -> None:
    memory = Memory(scopes=3)
    for number in range(10):
        memory.keep(number, {("i",): "1"})
        memory.turn()
    assert not memory.last(0)
    assert memory.last(9)


# -- go to -----------------------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text("import os\n\n\ndef helper(x):\n    return x\n\n\nhelper(1)\n")
    return path


def test_places_that_can_be_typed(source: Path) -> None:
    shown = read(str(source))
    folders = [source.parent]
    assert understand("4", shown, None, folders) == Spot(str(source), 4)
    assert understand("program.py:2", None, None, folders) == Spot(str(source), 2)
    assert understand("program.py", None, None, folders) == Spot(str(source), None)
    assert understand(str(source) + ":8", None, None, []) == Spot(str(source), 8)
    assert understand("*0x1000", shown, None, folders) == Spot(address=0x1000)
    assert understand("helper", shown, None, folders) == Spot(str(source), 4)
    assert understand("randn", shown, STACK, folders) == Spot(address=0x1000)
    assert understand("nobody", shown, STACK, folders) is None


def test_a_file_that_there_is_not_is_refused(source: Path) -> None:
    for text in ("nothing.cpp:3", "nothing.py", "some/where:1"):
        with pytest.raises(CommandError):
            understand(text, None, None, [source.parent])


# -- source ----------------------------------------------------------------------------------------


def test_colours_do_not_change_the_text(tmp_path: Path) -> None:
    texts = {
        "a.py": ('def f():\n    """A\n    text"""\n\treturn "x"  # done\n\n\n', 6),
        "b.cpp": ("#include <a>\r\n/* a\n comment */ int main() { return 0; }", 3),
        "empty.py": ("", 0),
        "form.py": ("a = 1\x0c\nb = 2\n", 2),
    }
    for name, (text, count) in texts.items():
        path = tmp_path / name
        path.write_text(text, newline="")
        source = read(str(path))
        assert source is not None
        with_colours = coloured(source)
        assert [plain(with_colours.line(n)) for n in range(len(source.lines))] == list(source.lines)
        assert len(source.lines) == count


def test_a_file_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert read(str(tmp_path / "nothing")) is None
    assert read(str(tmp_path)) is None


# -- the picker ------------------------------------------------------------------------------------


def test_the_picker_filters_by_every_word() -> None:
    one = Candidate(10, "python train.py --rank 0", "ann", "3.11", True, 4, 0.5, 90)
    other = Candidate(11, "python serve.py", "bob", "3.12", False, 1, 0.0, 7200, "traced by 9")
    assert [row.thing.pid for row in candidate_rows([one, other], "")] == [10, 11]
    assert [row.thing.pid for row in candidate_rows([one, other], "ann rank")] == [10]
    assert [row.thing.pid for row in candidate_rows([one, other], "11")] == [11]
    assert "traced by 9" in lines(candidate_rows([other], ""), 120)[0]
    assert [age(seconds) for seconds in (5, 90, 7200, 200000)] == ["5s", "1m", "2h", "2d"]


def test_machine_code_names_what_it_calls() -> None:
    rows = [
        CodeRow(0x10, "call   0x500", "", "here", 0, target="at::native::randn"),
        CodeRow(0x15, "je     0x20", "", "here", 5, target="here+16"),
        CodeRow(0x1A, "jmp    0x99 <other+1>", "", "here", 10, target="other+1"),
        CodeRow(0x20, "call   0x600", "", "here", 16, target="here::operator+"),
        CodeRow(0x25, "mov    $0x1,%eax", "", "here", 21),
    ]
    listing = listing_of(rows, 0x10)
    assert listing.title == "here"
    assert [row.text.split(maxsplit=1)[1] for row in listing.instructions] == [
        "call   at::native::randn",
        "je     <+16>",
        "jmp    other+1",
        "call   here::operator+",
        "mov    $0x1,%eax",
    ]


def test_what_cannot_be_seen_is_a_sign_of_one_column() -> None:
    assert visible("a\x1b[2J\tb\x7f\x9b\udcff\n") == "a␛[2J b␡\ufffd\ufffd␊"
    assert visible("日本 e\u0301") == "日本 e\u0301"
    assert visible_text("a\n\tb\0") == "a\n\tb␀"


WIDE = ("plain", "日本語の変数", "aé日b本", "👍 ok 👍", "")


@pytest.mark.parametrize("text", WIDE)
@pytest.mark.parametrize("width", range(1, 14))
def test_what_is_cut_has_room_in_columns_not_characters(text: str, width: int) -> None:
    shown = fit(text, width)
    assert cell_len(shown) <= width
    assert shown == text if cell_len(text) <= width else shown.endswith("…")
    count = letters_in(text, width)
    assert cell_len(text[:count]) <= width
    assert count == len(text) or cell_len(text[: count + 1]) > width


@pytest.mark.parametrize("room", (30, 44, 60))
def test_the_type_behind_a_wide_value_is_whole(room: int) -> None:
    text = "{'キー': '東京特許許可局東京特許許可局東京特許許可局'}"
    branch = Branch(Value("表", "dict", text, Language.PYTHON), ("x",))
    row = plain(branch_row(branch, 0).draw(room))
    assert row.endswith("dict")
    assert cell_len(row) <= room


@pytest.mark.parametrize("text", ["日本語" * 20, "東京 " * 30, "a" * 50])
@pytest.mark.parametrize("width", [1, 7, 20])
def test_a_line_of_the_prompt_is_broken_where_the_room_ends(text: str, width: int) -> None:
    edges = [0, *_breaks(text, width), len(text)]
    pieces = [text[start:end] for start, end in pairwise(edges)]
    assert "".join(pieces) == text
    assert all(cell_len(piece) <= max(width, 2) for piece in pieces)
