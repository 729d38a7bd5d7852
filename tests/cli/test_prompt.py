"""The prompt on a real terminal: Ctrl-C, Ctrl-D, history, completion, and programs that use the terminal themselves."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.cli.driver import Terminal, terminal
from tests.support import wait_until_gone

Write = Callable[..., Path]
"""Writes the text of a program (and, if given, under a name) and returns its path."""

LOOP = """\
n = 0
def spin():
    global n
    while True:
        n += 1
print("ready", flush=True)
spin()
"""

SLEEP = """\
import time
print("ready", flush=True)
time.sleep(1000)
"""

ASKS = """\
name = input("name? ")
print("hello", name, flush=True)
name = input("again? ")
print("bye", name)
"""

FORGES = """\
print('^done,fake="1"')
print('*stopped,reason="breakpoint-hit"')
print("(gdb) ")
x = 1
print("end")
"""

CURSES = """\
import curses

def main(screen):
    screen.addstr(0, 0, "press a key")
    screen.refresh()
    key = screen.getkey()
    inside = 1
    screen.addstr(1, 0, "pressed " + key)
    screen.refresh()
    screen.getkey()

curses.wrapper(main)
print("over")
"""

CATCHES = """\
import time
try:
    print("ready", flush=True)
    while True:
        time.sleep(0.1)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture
def program(tmp_path: Path) -> Write:
    def write(text: str, name: str = "program.py") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def quit_session(screen: Terminal) -> None:
    screen.send("quit")
    assert screen.finish()[0] == 0


def test_ctrl_c_pauses_python_code(program: Write) -> None:
    with terminal("run", program(LOOP)) as screen:
        screen.expect("ready")
        screen.control("c")
        said = screen.prompt()
        while "* Paused: native" in said:  # the write of "ready" is still under way: it does not hold the GIL
            assert "write" in screen.ask("bt")  # of a stripped C library the innermost frame has no name
            screen.run_on("c")
            screen.control("c")
            said = screen.prompt()
        assert "* Paused: Python" in said
        assert "#0 py   spin" in screen.ask("bt")
        assert int(screen.ask("p n").split()[-1]) >= 0  # a number: it may stand before the first round
        assert "* Step: Python" in screen.ask("n")
        screen.run_on("c")
        screen.control("c")
        assert "* Paused: Python" in screen.prompt()
        quit_session(screen)


def test_ctrl_c_pauses_native_code_and_a_second_one_offers_to_quit(program: Write) -> None:
    with terminal("run", program(SLEEP)) as screen:
        screen.expect("ready")
        screen.control("c")
        assert "* Paused: native" in screen.prompt()
        assert "py   <module>" in screen.ask("bt")
        screen.run_on("c")
        screen.control("c")
        assert "* Paused: native" in screen.prompt()
        screen.control("c")
        assert "Quit?" in screen.question()
        screen.send("n")
        screen.prompt()
        for no in ("c", "d"):  # only y quits
            screen.control("d")
            screen.question()
            screen.control(no)
            screen.prompt()
        screen.type("bt")
        screen.expect("bt")
        for _ in range(2):  # the first cancels the line, and does not count
            screen.control("c")
            screen.prompt()
        screen.control("d")
        assert "Quit?" in screen.question()
        screen.send("y")
        assert screen.finish()[0] == 0


@pytest.mark.smoke
def test_lines_are_cancelled_refused_completed_and_done(program: Write) -> None:
    path = program(ASKS)
    with terminal("run", "--stop-on-entry", path, cwd=path.parent) as screen:
        screen.prompt()
        ctrl_c_cancels_the_line(screen)
        files_and_functions_are_completed(screen)
        screen.ask("delete")
        mistakes_are_survived(screen)
        screen.send("kill")
        status, rest = screen.finish()
        assert status == 137 and "SIGKILL" in rest


def ctrl_c_cancels_the_line(screen: Terminal) -> None:
    screen.type("kill")
    screen.expect("kill")
    screen.control("c")
    screen.prompt()
    assert "#0 py   <module>" in screen.ask("bt")


def mistakes_are_survived(screen: Terminal) -> None:
    for line, answer in [
        ("contniue", "nearest: continue"),
        ("b", "No breakpoints."),
        ("b nosuch.py:1", "there is no file nosuch.py"),
        ("b xx(", "is not closed"),
        ("delete 7", "there is no breakpoint 7"),
        ("frame 99", "there is no frame 99"),
        ("frame x", "wants a number"),
        ("up", "outermost"),
        ("p", "wants an expression"),
        ("p 1/0", "ZeroDivisionError"),
        ("list nosuch.py:1", "there is no file nosuch.py"),
        ("info nosuch", "info does not know"),
        ("gdb continue", "type continue"),
        ("gdb", "wants a command"),
        ("thread 1", "there is no thread 1"),
        ("help nosuch", "there is no command"),
        ("next x", "wants a number"),
        ("continue 3", "takes no argument"),
        ("#", "is no command"),
    ]:
        said = screen.ask(line)
        assert answer in said, (line, said)
        assert "Traceback" not in said or line == "p 1/0"


def files_and_functions_are_completed(screen: Terminal) -> None:
    screen.type("b prog\t")
    screen.expect("program.py")
    screen.type(":3\r")
    assert "Breakpoint 1 (program.py:3): program.py:3" in screen.prompt()
    screen.type("tbreak PyOS_FSPa\t")
    screen.expect("PyOS_FSPath")
    screen.type("\r")
    assert "Breakpoint 2 (PyOS_FSPath)" in screen.prompt()


def test_a_program_that_reads_the_terminal(program: Write) -> None:
    path = program(ASKS)
    with terminal("run", "-b", "program.py:3", path, cwd=path.parent) as screen:
        screen.expect("name? ")
        screen.type("Ada\r")
        assert "hello Ada" in screen.prompt()
        assert "'Ada'" in screen.ask("p name")
        screen.send("c")
        screen.expect("again? ")
        screen.type("Grace\r")
        status, rest = screen.finish()
        assert status == 0
        assert "bye Grace" in rest


def test_a_program_that_prints_what_gdb_says(program: Write) -> None:
    path = program(FORGES)
    with terminal("run", "-b", "program.py:4", path, cwd=path.parent) as screen:
        before = screen.prompt()
        assert '^done,fake="1"\n' in before and "(gdb) \n" in before
        assert before.count("* Breakpoint 1: Python") == 1
        screen.send("c")
        assert "end" in screen.finish()[1]


def test_a_program_that_draws_on_the_terminal(program: Write) -> None:
    path = program(CURSES)
    with terminal("run", "-b", "program.py:7", path, cwd=path.parent) as screen:
        screen.expect("press a key")
        screen.type("a")
        assert "* Breakpoint 1: Python" in screen.prompt()
        assert "'a'" in screen.ask("p key")  # our line editor works between the program's own modes
        screen.send("c")
        screen.expect("pressed a")
        screen.type("b")
        status, rest = screen.finish()
        assert (status, "over" in rest) == (0, True)


def test_a_signal_that_is_not_from_the_terminal_is_the_programs(program: Write) -> None:
    path = program(CATCHES)
    with terminal("run", path) as screen:
        screen.expect("ready")
        children = psutil.Process(screen.child.pid).children(recursive=True)
        (target,) = [child for child in children if str(path) in child.cmdline()]
        target.send_signal(signal.SIGINT)
        status, rest = screen.finish()
        assert "interrupted" in rest and "Paused" not in rest
        assert status == 0


def test_an_empty_line_repeats_steps_and_goes_on_with_list(program: Write) -> None:
    path = program("".join(f"x = {number}\n" for number in range(1, 41)))
    with terminal("run", "--stop-on-entry", path) as screen:
        screen.prompt()
        assert "program.py:2\n" in screen.ask("n")
        assert "program.py:3\n" in screen.ask("")
        assert ">  3" in screen.ask("list") or "> 3" in screen.ask("list 3")
        assert "12  x = 12" in screen.ask("")
        assert "23  x = 23" in screen.ask("")
        assert screen.ask("p x").strip() == "2"
        assert screen.ask("").strip() == ""
        quit_session(screen)


MODEL = """\
import os
class Model:
    def __init__(self):
        self.weight, self.bias_of_it = [1.5], 2
def work(model):
    width = 7
    os.getsid(0)
    return width
work(Model())
"""


def test_values_complete_with_their_fields(program: Write) -> None:
    path = program(MODEL)
    with terminal("run", "-b", "program.py:7", "-b", "getsid", path, cwd=path.parent) as screen:
        screen.prompt()
        for typed, rest, value in [("p wid", "th", "7"), ("p model.bia", "s_of_it", "2")]:
            screen.type(typed + "\t")
            screen.expect(rest)
            screen.type("\r")
            assert value in screen.prompt().split()
        screen.ask("continue")  # gdb holds the program: names are read from memory
        assert "getsid" in screen.ask("bt")
        screen.ask("frame function work")
        for typed, rest, value in [("p wid", "th", "7"), ("p model.bia", "s_of_it", "2")]:
            screen.type(typed + "\t")
            screen.expect(rest)
            screen.type("\r")
            assert value in screen.prompt().split()
        quit_session(screen)


def test_scopes_of_cxx_complete(program: Write) -> None:
    path = program("import ctypes\nctypes.CDLL('libstdc++.so.6')\nprint('end')\n")
    with terminal("run", "-b", "program.py:3", path, cwd=path.parent) as screen:
        screen.prompt()
        screen.type("tbreak std::__throw_bad_ca\t")
        screen.expect("std::__throw_bad_cast")
        screen.type("\r")
        assert "Breakpoint 2 (std::__throw_bad_cast" in screen.prompt()
        quit_session(screen)


def test_history_is_kept_and_searched(program: Write, tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    path = program(ASKS)
    with terminal("run", "--stop-on-entry", path, env=env) as screen:
        screen.prompt()
        screen.ask("p 6 * 7")
        quit_session(screen)
    with terminal("run", "--stop-on-entry", path, env=env) as screen:
        screen.prompt()
        screen.control("r")
        screen.type("6 *")
        screen.type("\r")  # takes what was found
        assert "42" in screen.ask("")
        quit_session(screen)


def test_40_columns(program: Write) -> None:
    with terminal(
        "run", "--stop-on-entry", program(ASKS, "a_rather_long_name_of_a_program.py"), columns=40
    ) as screen:
        before = screen.prompt()
        assert "* Start of the program" in before
        stack = screen.ask("bt")
        assert all(len(line) <= 40 for line in stack.splitlines())
        assert "_program.py:1" in stack
        quit_session(screen)


def test_a_closed_terminal_ends_everything(program: Write) -> None:
    with terminal("run", program(SLEEP)) as screen:
        screen.expect("ready")
        family = [psutil.Process(screen.child.pid)]
        family += family[0].children(recursive=True)
        screen.child.close(force=False)
        wait_until_gone(family)
