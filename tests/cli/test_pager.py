"""Long answers at the prompt come a screen at a time: pure, and on a terminal."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.utils import get_cwidth

from dualdbg.cli.pager import QUESTION, Pager
from dualdbg.console.reports import ErrorReport, OfProcess, TextReport
from dualdbg.model import Notice
from tests.cli.driver import dualdbg, terminal

ANSWER = TextReport("")
NEWS = Notice("info", "")


def pager(rows: int = 5, columns: int = 10) -> Pager:
    one = Pager(lambda: Size(rows, columns))
    one.begin()
    return one


@pytest.mark.pure
def test_what_fits_is_written_at_once() -> None:
    one = pager()
    assert one.passed(ANSWER, "1\n2\n") == "1\n2\n" and not one.holds
    assert one.passed(ANSWER, "3\n4\n5\n") == "3\n4\n" and one.holds
    assert one.passed(ANSWER, "6\n") == ""
    assert one.more() == "5\n6\n" and not one.holds
    one.end()
    assert one.passed(ANSWER, "n\n" * 20) == "n\n" * 20


@pytest.mark.pure
def test_who_has_read_enough_still_hears_what_has_happened() -> None:
    one = pager()
    one.passed(ANSWER, "1\n2\n3\n4\n5\n")
    for report, text in ((NEWS, "stop\n"), (ANSWER, "6\n"), (OfProcess(2, False, NEWS), "two\n")):
        assert one.passed(report, text) == ""
    assert one.passed(ErrorReport("failed", ""), "failed\n") == ""
    assert one.news() == "stop\ntwo\nfailed\n" and not one.holds


@pytest.mark.pure
def test_a_line_takes_as_many_rows_as_it_is_wide() -> None:
    one = pager()
    assert one.passed(ANSWER, "x" * 45 + "\n") == "x" * 40 + "\n"
    assert one.more() == "x" * 5 + "\n"
    one = pager()
    assert one.passed(ANSWER, "語" * 21 + "\n") == "語" * 20 + "\n"  # two columns each
    one = pager()
    coloured = "\x1b[31m" + "x" * 100 + "\x1b[0m\n"  # is not divided
    assert one.passed(ANSWER, "1\n" + coloured + "2\n") == "1\n"
    assert one.more() == coloured and one.more() == "2\n"


@pytest.mark.pure
@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_and_no_screen_is_too_long(seed: int) -> None:
    random_ = random.Random(seed)
    letters = "ab 語é\n\n"
    texts = ["".join(random_.choices(letters, k=random_.randrange(60))) + "\n" for _ in range(8)]
    rows, columns = random_.randrange(3, 8), random_.randrange(4, 20)
    one = pager(rows, columns)
    screens = ["".join(one.passed(ANSWER, text) for text in texts)]
    while one.holds:
        screens.append(one.more())
    for screen in screens:
        lines = screen.removesuffix("\n").split("\n")
        taken = sum(max(-(-get_cwidth(line) // (columns - 1)), 1) for line in lines)
        # A letter of two columns may leave one free: rows of that width are as many at most.
        assert len(lines) <= rows - 1 <= taken or screen is screens[-1]
    assert re.sub(r"\n", "", "".join(screens)) == re.sub(r"\n", "", "".join(texts))


SCRIPT = "import os\nfor n in range(3):\n    os.getpid()\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(SCRIPT)
    return path


def test_on_a_terminal(script: Path) -> None:
    def asked() -> str:
        return screen.expect(QUESTION)

    with terminal("run", "-b", "program.py:3", script) as screen:
        screen.prompt()
        screen.send("help")
        assert len(asked().strip().splitlines()) == 39  # of 40 rows
        screen.type(" ")
        assert "disable, dis" in asked()
        screen.type("x")  # means nothing
        screen.type("q")
        assert "help COMMAND" not in screen.prompt()
        screen.send("help")
        asked()
        screen.type("c")
        assert "help COMMAND tells more" in screen.prompt()
        screen.send("print 'x' * 5000")
        asked()
        screen.control("c")
        screen.prompt()
        assert "pagination off" in screen.ask("set pagination off")
        assert "help COMMAND tells more" in screen.ask("help")


def test_no_pages_without_a_screen(script: Path) -> None:
    with terminal("run", "-b", "program.py:3", script, env={**os.environ, "TERM": "dumb"}) as screen:
        screen.expect("(dualdbg)")
        screen.type("help\r")
        screen.expect("help COMMAND tells more")
    done = dualdbg("run", "-b", "program.py:3", "-x", "set pagination off", "-x", "help", "--batch", script)
    assert "help COMMAND tells more" in done.stdout and QUESTION not in done.stdout and done.status == 0
