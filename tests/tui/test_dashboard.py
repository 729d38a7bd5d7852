"""The dashboard on real sessions: what it shows, and what its keys do."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from dualdbg.model import State
from dualdbg.session.stops import classifier
from dualdbg.tui.app import Dashboard
from tests.support import SAMPLES, require

from .driver import Screen, on_screen

DEMO = SAMPLES / "native_demo.py"


async def shows_source_stack_and_variables(screen: Screen, counter: Path) -> None:
    views = screen.app.views
    assert views.source.source is not None
    assert views.source.source.path == str(counter)
    assert views.source.current == 4
    assert [line.split()[2:4] for line in screen.lines(views.stack)] == [
        ["count", str(counter) + ":4"],
        ["<module>", str(counter) + ":9"],
    ]
    variables = [line.strip() for line in screen.lines(views.variables)]
    assert "limit = 3 int" in variables
    assert "total = 0 int" in variables
    assert "stopped in Python at counter.py:4, breakpoint 1" in screen.text()
    assert "▶" in screen.text()
    assert "●" in screen.text()


async def the_prompt_has_every_command_history_and_completion(screen: Screen) -> None:
    await screen.command(":nonsuch")  # the key that leads to the prompt, typed in it
    await screen.until(lambda: "there is no command 'nonsuch'" in screen.said, "the complaint")
    await screen.command("p limit")
    await screen.until(lambda: "\n3" in screen.said, "the value")
    await screen.command("nonsense")
    await screen.until(lambda: "there is no command 'nonsense'" in screen.said, "the complaint")
    line = screen.app.views.prompt.line
    await screen.press("up", "up")
    assert line.value == "p limit"
    await screen.press("down", "down")
    assert line.value == ""
    await screen.press(*"contin", "tab")
    assert line.value == "continue "
    await screen.press(*["backspace"] * 9)
    await screen.press(*"tbreak", "space", *"PyOS", "underscore", *"FSPa", "tab")
    await screen.until(lambda: line.value == "tbreak PyOS_FSPath ", "the function")
    await screen.press(*["backspace"] * 19)
    await screen.type("bt")
    await screen.until(lambda: ">#0 py" in screen.said, "the stack")
    await screen.type("up")
    await screen.stopped()
    assert screen.app.views.stack.selected == 1
    await screen.press("escape")
    assert screen.app.focused is screen.app.views.source


async def changed_values_are_marked_and_open_ones_stay_open(screen: Screen) -> None:
    view = screen.app.views.variables

    def marked() -> list[str]:
        names = (line.lstrip("*▸▾ ").split()[0] for line in screen.lines(view) if line.startswith("*"))
        return sorted(name for name in names if not name.startswith("'"))  # those are members

    def is_open() -> bool:
        return any("'number' =" in line for line in screen.lines(view))

    await screen.go_on("f5")
    assert marked() == ["number"]
    await screen.press("u")
    await screen.stopped()
    await screen.press("d")
    await screen.stopped()
    assert marked() == ["number"], "also when they are looked at again"
    await screen.press("4")
    view.cursor = next(line for line, row in enumerate(view.rows) if row.thing.value.name == "names")
    await screen.press("right")
    await screen.until(is_open, "the members")
    await screen.go_on("f5")
    await screen.until(is_open, "the members at the next stop")
    assert marked() == ["names", "number", "total"]
    await screen.press("left")
    await screen.until(lambda: not is_open(), "the closed value")
    await screen.press("enter")
    await screen.until(lambda: "'twice'" in screen.text(), "the whole value")
    await screen.press("escape")


async def breakpoints_are_set_switched_and_removed_by_keys(screen: Screen) -> None:
    table = screen.session.breakpoints
    source = screen.app.views.source
    source.go_to(6)
    await screen.press("f9")
    await screen.until(lambda: any(row.spec.line == 6 for row in table.all()), "the breakpoint")
    await screen.press("5", "end", "space")
    await screen.until(lambda: not table.all()[-1].enabled, "the breakpoint is off")
    assert "○" in screen.text()
    await screen.press("space")
    await screen.until(lambda: table.all()[-1].enabled, "the breakpoint is on")
    await screen.press("x")
    await screen.until(lambda: len(table.all()) == 1, "the breakpoint is gone")
    await screen.press("e")
    await screen.press(*["backspace"] * 40)
    await screen.type("counter.py:6")
    await screen.until(lambda: [row.spec.line for row in table.all()] == [6], "the changed breakpoint")
    await screen.go_on("f5")
    assert source.current == 6


async def quitting_a_living_program_asks_first(screen: Screen) -> None:
    await screen.press("q")
    assert "Quit?" in screen.text()
    await screen.type("n")
    assert screen.app.is_running
    await screen.press("ctrl+q")
    await screen.press("enter")
    await screen.until(lambda: not screen.app.is_running, "the end")


def test_python_stops_from_the_first_one_to_the_end(tmp_path: Path, counter: Path) -> None:
    async def work(screen: Screen) -> None:
        await screen.stopped()
        await screen.until(lambda: "total = 0" in screen.said, "the command of the caller")
        await shows_source_stack_and_variables(screen, counter)
        await the_prompt_has_every_command_history_and_completion(screen)
        await changed_values_are_marked_and_open_ones_stay_open(screen)
        await breakpoints_are_set_switched_and_removed_by_keys(screen)
        await quitting_a_living_program_asks_first(screen)

    on_screen(work, folder=tmp_path, script=counter, breakpoints=["counter.py:4"], commands=("locals",))
    assert "+p limit" in (tmp_path / "history").read_text()


async def shows_both_languages(screen: Screen) -> None:
    views = screen.app.views
    stack = screen.lines(views.stack)
    assert stack[0].startswith("▸#0 c++  sample::inner_loop")
    assert any("called by Python" in line for line in stack)
    assert any(" py   levels" in line for line in stack)
    assert views.source.source is not None
    assert views.source.source.path.endswith("helper.cpp")
    text = screen.text()
    assert "stopped natively in sample::inner_loop, breakpoint 1" in text
    assert "debugpy waits" in text


async def shows_registers_memory_and_machine_code(screen: Screen) -> None:
    views = screen.app.views
    await screen.press("6")
    await screen.until(lambda: bool(views.registers.rows), "the registers")
    assert [row.thing.name for row in views.registers.rows]
    await screen.press("7")
    await screen.until(lambda: bool(views.memory.rows), "the memory of the stack")
    await screen.press("g")
    await screen.type("&total")
    await screen.until(lambda: views.memory.address not in (None, 0), "the memory of a variable")
    await screen.press("1", "m")
    await screen.until(lambda: views.source.listing is not None, "the machine code")
    assert any("push" in line or "mov" in line or "stp" in line for line in screen.lines(views.source))
    await screen.press("m")
    await screen.until(lambda: views.source.source is not None, "the source again")


async def steps_mark_what_they_change(screen: Screen) -> None:
    views = screen.app.views
    await screen.go_on("f10")
    assert any(line.startswith("* total = ") for line in screen.lines(views.variables))
    await screen.go_on("n")
    assert any("i = 0" in line for line in screen.lines(views.variables))  # it may have been 0 before


async def selected_frames_show_their_source_and_variables(screen: Screen) -> None:
    views = screen.app.views
    await screen.press("u")
    await screen.stopped()
    assert any(line.strip().startswith("doubled =") for line in screen.lines(views.variables))
    await screen.press("2", "end")
    await screen.stopped()
    assert views.source.source is not None
    assert views.source.source.path == str(DEMO)
    assert not views.source.innermost
    assert "▷" in screen.text()


def test_a_native_stop(tmp_path: Path, native_samples: Path) -> None:
    async def work(screen: Screen) -> None:
        await screen.stopped()
        await shows_both_languages(screen)
        await shows_registers_memory_and_machine_code(screen)
        await steps_mark_what_they_change(screen)
        await selected_frames_show_their_source_and_variables(screen)

    on_screen(work, folder=tmp_path, script=DEMO, breakpoints=["sample::inner_loop"])


def test_steps_cross_the_boundary_and_come_back(tmp_path: Path, native_samples: Path) -> None:
    async def work(screen: Screen) -> None:
        await screen.stopped()
        await screen.go_on("f11")
        assert screen.app.views.source.source is not None
        assert screen.app.views.source.source.path.endswith(".cpp")
        assert "stopped natively" in screen.text()
        await screen.go_on("shift+f11")
        assert "native_demo.py" in screen.text()
        assert any("(return) " in line for line in screen.lines(screen.app.views.variables))

    on_screen(work, folder=tmp_path, script=DEMO, breakpoints=["native_demo.py:23"])


def test_machine_code_has_the_python_line_that_led_there(tmp_path: Path) -> None:
    script = tmp_path / "asks.py"
    script.write_text("import os\ndef work(n):\n    return os.getsid(n)\nwork(0)\n")

    async def work(screen: Screen) -> None:
        await screen.stopped()
        source = screen.app.views.source
        await screen.until(lambda: "work asks.py:3" in screen.text(), "the line that led there")
        lines = screen.lines(source)
        at = next(
            number for number, line in enumerate(lines) if "work asks.py:3  return os.getsid(n)" in line
        )
        assert "▶" in lines[at + 1]
        assert source.place() == (None, source.current)
        await screen.press("down", "up", "up")
        assert source.place() == (None, source.current)  # the line itself means the instruction below it

    on_screen(work, folder=tmp_path, script=script, breakpoints=["::getsid"])


def test_the_program_has_a_terminal_and_function_keys_lead_out_of_it(tmp_path: Path, counter: Path) -> None:
    async def work(screen: Screen) -> None:
        program = screen.app.views.program
        await screen.until(lambda: "name?" in "\n".join(screen.lines(program)), "the question")
        await screen.press("8")
        await screen.until(lambda: screen.app.focused is program, "the program's pane")
        await screen.press("f7")
        await screen.until(lambda: screen.app.focused is not program, "another pane")
        await screen.press("8")
        await screen.until(lambda: screen.app.focused is program, "the program's pane")
        await screen.press("f6")
        await screen.stopped()
        assert "paused" in screen.text()
        await screen.press("f5")
        await screen.press("b", "o", "b", "backspace", "b", "enter")
        await screen.ended()
        await screen.until(lambda: "hello bob" in "\n".join(screen.lines(program)), "the answer")
        assert screen.lines(program)[0] == "3"

    on_screen(work, folder=tmp_path, script=counter)


def test_ctrl_c_pauses_a_running_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """debugpy does not stop in this loop: after some looks gdb does."""
    monkeypatch.setattr(classifier, "PYTHON_PAUSE_LOOKS", 1)

    async def work(screen: Screen) -> None:
        await screen.until(lambda: screen.app.state is State.RUNNING, "the run")
        await screen.until(lambda: "running" in screen.text(), "the status")
        await screen.press("ctrl+c")
        await screen.stopped()
        assert "paused" in screen.text()

    on_screen(work, folder=tmp_path, launch_options={"code": "while True: pass"})


@pytest.mark.smoke
def test_the_end_is_said_and_quit_leaves(tmp_path: Path) -> None:
    async def work(screen: Screen) -> Dashboard:
        await screen.ended()
        await screen.until(lambda: "the program ended with status 3" in screen.text(), "the end")
        await screen.press("q")
        return screen.app

    app = on_screen(work, folder=tmp_path, launch_options={"code": "raise SystemExit(3)"})
    assert app.failure is None


@pytest.mark.torch
def test_tensors_show_their_dtype_and_shape(tmp_path: Path) -> None:
    require(importlib.util.find_spec("torch"), "PyTorch")
    script = tmp_path / "tensors.py"
    script.write_text("import torch\n\none = torch.zeros(2, 3)\ntwo = torch.tensor(5)\nprint(one, two)\n")

    async def work(screen: Screen) -> None:
        await screen.stopped()
        view = screen.app.views.variables
        kinds = {row.thing.value.name: row.thing.value.type for row in view.rows}
        assert kinds["one"] == "float32 [2, 3]"
        assert kinds["two"] == "int64 []"
        assert kinds["torch"] == "module"
        assert any("one = tensor(" in line for line in screen.lines(view))

    on_screen(work, folder=tmp_path, script=script, breakpoints=["tensors.py:5"])


def test_output_at_full_speed_leaves_the_keys_alive(tmp_path: Path) -> None:
    code = "import sys\nwhile True: sys.stdout.write('x' * 39 + chr(10))"

    async def work(screen: Screen) -> None:
        app = screen.app
        await screen.press("8")
        terminal = app.terminal
        assert terminal is not None
        await screen.until(lambda: terminal.screen.added > 20_000, "much output")
        assert len(terminal.screen.history) <= 10_000
        await screen.press("f7")
        await screen.until(lambda: app.focused is not app.views.program, "another pane")
        await screen.press("f6")
        await screen.stopped()

    on_screen(work, folder=tmp_path, launch_options={"code": code})


def test_a_session_that_cannot_start_is_a_failure_not_a_screen(tmp_path: Path) -> None:
    async def work(screen: Screen) -> Any:
        await screen.until(lambda: screen.app.failure is not None, "the failure")
        await asyncio.sleep(0)
        return screen.app.failure

    failure = on_screen(work, folder=tmp_path, script="x.py", launch_options={"python": "/nowhere/python"})
    assert "cannot be started" in str(failure)
