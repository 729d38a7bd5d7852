"""`interact`: Python's prompt in a frame, on a terminal and in a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.console.interaction import FIRST, FURTHER, Interaction
from tests.cli.driver import dualdbg, terminal

PROGRAM = """\
import os
def work(n):
    total = n * 2
    os.getpgid(0)
    total += 1
    print("total", total)
work(4)
print("end")
"""
STATEMENTS = ["new = 5", "def f(k):", "    if k:", "        return k + total", "    return new", "", "f(1)"]


async def _nothing(text: str) -> None:
    raise AssertionError(text)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def batch(*commands: str) -> list[str]:
    return [word for command in commands for word in ("-x", command)]


@pytest.mark.pure
def test_lines_become_statements() -> None:
    one = Interaction(1, _nothing)
    assert [one.read(line) for line in ("", "x = 1", "if x:", "    y = 2", "")] == [
        "",
        "x = 1",
        None,
        None,
        "if x:\n    y = 2",
    ]
    assert one.read("f(1,") is None and one.prompt == FURTHER and not one.is_last("exit()")
    assert one.give_up() and one.prompt == FIRST and not one.give_up()
    assert one.is_last("exit()") and one.is_last(" quit ") and not one.is_last("exit(1)")
    assert one.read("x = = 1") == "x = = 1"  # the program's Python refuses it


def test_names_last_as_long_as_the_frame(script: Path) -> None:
    words = batch(
        "interact",
        *STATEMENTS,
        "total = 70",
        "1/0",
        "exit()",
        "next",
        "print f(new)",
        "next",
        "next",
        "p new",
    )
    done = dualdbg("run", "-b", "program.py:4", *words, "--batch", script)
    assert ">>> f(1)\n9\n" in done.stdout and "...     if k:\n" in done.stdout
    assert "ZeroDivisionError: division by zero" in done.stderr + done.stdout
    assert "(dualdbg) print f(new)\n13\n" in done.stdout  # it keeps what total was
    assert "total 71" in done.stdout
    assert "name 'new' is not defined" in done.stderr + done.stdout  # in the caller
    assert done.status == 3  # 1/0 was reported


def test_expressions_of_a_statement_are_shown_as_by_pythons_prompt(script: Path) -> None:
    """In their order, among what is printed; those of a function are not, nor is the program's ``_`` touched."""
    lines = [
        "for i in (7, None): print('p'); i",
        "",
        "x = 1; x; '\u20ac'; Own()",
        "def f():",
        "    88",
        "",
        "f()",
    ]
    own = "class Own: __repr__ = lambda self: 1 / 0"
    words = batch(
        "interact", own, "", *lines, "2; 1 / 0", "'_' in vars(__builtins__)", "exit()", "py 3; total"
    )
    done = dualdbg("run", "-b", "program.py:4", *words, "--batch", script)
    assert "... \np\n7\np\n>>> x = 1" in done.stdout
    assert "Own()\n1\n'\u20ac'\n<__main__.Own object at 0x" in done.stdout
    assert ">>> f()\n>>> 2; 1 / 0\n2\n" in done.stdout and "ZeroDivisionError" in done.stderr + done.stdout
    assert "False\n>>> exit()\n(dualdbg) py 3; total\n3\n8\n" in done.stdout


def test_an_encoding_without_the_letters_of_a_value(script: Path) -> None:
    words = ["--env", "PYTHONIOENCODING=ascii", *batch("py x = 1; '\u20ac'")]
    done = dualdbg("run", "-b", "program.py:4", *words, "--batch", script)
    assert "\n'\\u20ac'\n" in done.stdout


def test_what_was_printed_is_there_before_the_answer(tmp_path: Path) -> None:
    """The end of the batch ends the program, whose buffers are lost with it."""
    path = tmp_path / "program.py"
    path.write_text(
        "import io, sys, time\n"
        "class Slow(io.TextIOWrapper):\n"
        "    def flush(self):\n"
        "        time.sleep(1)\n"
        "        super().flush()\n"
        "sys.stdout = Slow(sys.stdout.buffer)\n"
        "print('the program itself')\n"
        "done = True\n"
    )
    words = batch("print print('an expression')", "print 1 / 0")
    done = dualdbg("run", "-b", "program.py:8", *words[:2], "--batch", path)
    assert "the program itself\nan expression\n" in done.stdout
    done = dualdbg("run", "-b", "program.py:8", *words[2:], "--batch", path)
    assert "the program itself\n" in done.stdout and "ZeroDivisionError" in done.stderr + done.stdout


def test_why_it_is_not_there_at_a_native_stop(script: Path) -> None:
    done = dualdbg("run", "-b", "::getpgid", *batch("interact", "print n"), "--batch", script)
    assert "while gdb holds the program, debugpy runs nothing" in done.stderr + done.stdout
    assert "(dualdbg) print n" in done.stdout


def test_a_line_is_not_run_where_the_program_has_moved_on(script: Path) -> None:
    words = batch("interact", "os.getpgid(0)", "n = 3", "exit()")
    done = dualdbg("run", "-b", "program.py:4", "-b", "::getpgid", *words, "--batch", script)
    assert "this line was not run" in done.stderr + done.stdout


def test_on_a_terminal(script: Path) -> None:
    with terminal("run", "-b", "program.py:4", script) as screen:
        screen.prompt()
        assert "Python in work at line 4" in screen.ask("interact")
        for line in STATEMENTS[:-1]:
            assert screen.ask(line).strip() == ""
        assert "108" in screen.ask("f(100)")
        screen.type("if new:")
        screen.control("c")  # cancels the line, and the statement
        screen.prompt()
        screen.control("d")
        screen.prompt()
        assert "5" in screen.ask("print new")
