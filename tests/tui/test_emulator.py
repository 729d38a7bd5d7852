"""The program's terminal: what text and control sequences do to the screen."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual._xterm_parser import XTermParser
from textual.events import Key

from dualdbg.system.patience import patient
from dualdbg.tui.app import alt_is_alt
from dualdbg.tui.terminal.cells import Look
from dualdbg.tui.terminal.keys import sequence
from dualdbg.tui.terminal.parser import Parser
from dualdbg.tui.terminal.pty import ProgramTerminal
from dualdbg.tui.terminal.reflow import as_row
from dualdbg.tui.terminal.screen import Row, Screen
from tests import support

COLUMNS, LINES = 40, 10

CASES = {
    "text and lines": "one\r\ntwo\r\n\r\nthree",
    "wrapping": "x" * 45 + "\r\nend",
    "a full last column": "y" * 40 + "\rA",
    "carriage return": "abc\rX",
    "back space": "abc\b\bX",
    "tabs": "a\tb\tc",
    "scrolling": "".join(f"line {n}\r\n" for n in range(15)),
    "many lines": "".join(f"line {n}\r\n" for n in range(500)) + "last",
    "cursor places": "\x1b[5;10HX\x1b[2;2HY\x1b[HZ\x1b[99;99HW",
    "cursor moves": "abc\x1b[2DX\x1b[3BY\x1b[2AZ\x1b[5CW\x1b[GV",
    "erase display": "aaaa\r\nbbbb\r\ncccc\x1b[2;3H\x1b[J",
    "erase display before": "aaaa\r\nbbbb\r\ncccc\x1b[2;3H\x1b[1J",
    "erase line": "aaaaaa\x1b[3G\x1b[K\r\nbbbbbb\x1b[3G\x1b[1K\r\ncccc\x1b[2K",
    "insert and delete letters": "abcdef\x1b[3G\x1b[2@XY\r\nabcdef\x1b[2G\x1b[2P\r\nabcdef\x1b[2G\x1b[3X",
    "insert and delete lines": "a\r\nb\r\nc\r\nd\x1b[2;1H\x1b[2L\x1b[5;1H\x1b[M",
    "region": "\x1b[3;6r\x1b[3;1Ha\r\nb\r\nc\r\nd\r\ne\r\nf\x1b[r\x1b[9;1Hend",
    "reverse index": "top\x1b[H\x1bMnew",
    "scroll up and down": "a\r\nb\r\nc\x1b[S\x1b[2;1HX\x1b[2TY",
    "save and restore": "ab\x1b7cdef\x1b8X",
    "alternate screen": "main\x1b[?1049hother\x1b[?1049l again",
    "repeat": "-\x1b[9bx",
    "wide letters": "日本語 x\r\n" + "ab日" * 12,
    "combining": "e\u0301x",
    "no wrap": "\x1b[?7l" + "z" * 39 + "ABC",
    "insert mode": "abc\x1b[G\x1b[4hXY\x1b[4l",
    "colours": "\x1b[31mred \x1b[1;44mblue\x1b[0m plain \x1b[38;5;200mx\x1b[38;2;1;2;3my",
    "titles and unknown": "\x1b]0;a title\x07text\x1b]8;;http://x\x1b\\\x1b[>4;1m\x1b[?2004h!",
    "tab stops": "\x1b[3g\x1b[5G\x1bH\r\tX",
    "next line": "abc\x1bEdef\x1b[2Fx",
    "a row of a long line erased": "x" * 40 + "y" * 10 + "\r\x1b[2Knew",
    "a row behind one of the history erased": "x" * 60 + "\r\n" * 9 + "\x1b[1;1H\x1b[2Knew",
    "a line inserted in a long line": "x" * 60 + "\r\x1b[Lz",
    "a line deleted in a long line": "x" * 60 + "\r\nnext\x1b[2;1H\x1b[M",
    "lines scrolled under a long line": "x" * 60 + "\x1b[2;5r\x1b[T\x1b[r\x1b[5;1Hend",
    "a tab behind a full row": "x" * 40 + "\t日",
    "a letter where a wide one had no room": "a" + "日" * 20 + "\x1b[1;40Hz\r",
    "origin mode": "\x1b[3;6r\x1b[?6h\x1b[HX\x1b[?6l\x1b[HY",
}


def drawn(text: str, columns: int = COLUMNS, lines: int = LINES) -> Screen:
    screen = Screen(columns, lines)
    Parser(screen).feed(text)
    return screen


def shown(screen: Screen) -> list[str]:
    return [row.text() for row in screen.rows]


NARROW, WIDE = 17, 60


def everything(screen: Screen) -> list[str]:
    """The text of the history and the screen."""
    past = [line.text() if isinstance(line, Row) else as_row(line).text() for line in screen.history]
    return _without_blank_end([*past, *shown(screen)])


def _without_blank_end(lines: list[str]) -> list[str]:
    return "\n".join(lines).rstrip("\n").split("\n")


@dataclass
class InTmux:
    """What tmux shows: the screen, and everything with the history once the window has another width."""

    screen: list[str]
    narrow: list[str]
    wide: list[str]


@pytest.fixture(scope="module")
def in_tmux(tmp_path_factory: pytest.TempPathFactory) -> dict[str, InTmux]:
    """What tmux shows of every case: a terminal that others have tested."""
    tmux = support.require(shutil.which("tmux"), "tmux is not installed", outside=True)
    folder = tmp_path_factory.mktemp("tmux")
    socket = f"dualdbg-{uuid.uuid4().hex[:8]}"
    result = {}

    def run(*words: str) -> str:
        command = [tmux, "-L", socket, "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def captured(number: int, *options: str) -> list[str]:
        shown_there = run("capture-pane", "-p", *options, "-t", str(number))
        return [line.rstrip() for line in shown_there.split("\n")]

    keep = folder / "keep"
    try:
        for number, (name, text) in enumerate(CASES.items()):
            data, sized, done = (folder / f"{number}{end}" for end in ("", ".sized", ".done"))
            data.write_bytes(text.encode())
            # tmux answers the question where the cursor is (DSR) once it has drawn what came before.
            draw = f"cat {data}; printf '\\033[6n'; head -c 1 >/dev/null; touch {done}"
            script = f"stty raw -echo; {_until(sized)}; {draw}; {_until(keep)}"
            size = ["-x", str(COLUMNS), "-y", str(LINES)]
            run("-u", "new-session", "-d", "-s", str(number), *size, "-e", "LC_ALL=C.UTF-8", script)
            run("set-option", "-t", str(number), "status", "off")
            run("resize-window", "-t", str(number), *size)
            sized.touch()
            support.wait_until(done.exists, 60, f"tmux has drawn {name}")
            screen = captured(number)[:LINES]
            resized = []
            for columns in (NARROW, WIDE):
                run("resize-window", "-t", str(number), "-x", str(columns), "-y", str(LINES))
                resized.append(captured(number, "-S", "-"))
            result[name] = InTmux(screen, *map(_without_blank_end, resized))
    finally:
        keep.touch()
        subprocess.run([tmux, "-L", socket, "kill-server"], capture_output=True)
    return result


def _until(file: Path) -> str:
    """A line of the shell that waits for a file."""
    return f"until [ -e {file} ]; do sleep 0.05; done"


@pytest.mark.parametrize("name", CASES)
def test_the_screen_is_that_of_tmux(name: str, in_tmux: dict[str, InTmux]) -> None:
    assert shown(drawn(CASES[name])) == in_tmux[name].screen


NOT_AS_TMUX = {
    "insert and delete letters": "tmux gives rows to the blanks that a deletion of letters leaves at the end",
    "region": "tmux's history has the lines that leave a region below the first line; xterm's has them not",
}


@pytest.mark.parametrize("name", sorted(CASES.keys() - NOT_AS_TMUX.keys()))
def test_lines_are_broken_as_tmux_breaks_them(name: str, in_tmux: dict[str, InTmux]) -> None:
    screen = drawn(CASES[name])
    screen.resize(NARROW, LINES)
    assert everything(screen) == in_tmux[name].narrow
    screen.resize(WIDE, LINES)
    assert everything(screen) == in_tmux[name].wide


@given(
    st.lists(
        st.sampled_from(
            [
                *CASES.values(),
                "\x1b[",
                "\x1b",
                "\x1b]0;",
                "5;5H",
                "é",
                "\r\n" * 40,
                "日",
                "\x1b[?1049h",
                "\x1b[?1049l",
                "\x1b[31mred\x1b[0m\r\n" * 40,
                "\x1b[1mbold\r\n" * 40,
                "a\tb\r\n" * 40,
                "\x9b1m\x90" + "\r\n" * 40,
            ]
        ),
        max_size=8,
    ),
    st.integers(1, 9),
)
def test_pieces_of_any_length_draw_the_same(texts: list[str], size: int) -> None:
    text = "".join(texts)
    whole = drawn(text)
    screen = Screen(COLUMNS, LINES)
    parser = Parser(screen)
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    assert shown(screen) == shown(whole)
    assert all(len(row.texts) == len(row.looks) == COLUMNS for row in screen.rows)


def test_lines_that_only_scroll_by_are_kept_with_their_colours() -> None:
    text = "".join(f"\x1b[3{n % 8}mline {n}\x1b[0m\r\n" for n in range(2000))
    screen = drawn(text)
    lines = [line.text() if isinstance(line, Row) else line for line in screen.history]
    assert screen.added == 1991
    assert len(lines) == 1991
    assert "line 7" in lines[7]
    assert "\x1b[37m" in lines[7] or lines[7] == "line 7"
    assert shown(screen)[-2] == "line 1999"


def test_long_lines_of_the_history_are_wrapped_as_on_the_screen() -> None:
    screen = drawn("".join("x" * 100 + "\r\n" for _ in range(100)), columns=40)
    assert len(screen.history) == 300 - 10 + 1


def test_coloured_lines_of_the_history_are_wrapped_with_their_colours() -> None:
    line = f"\x1b[31m{'r' * 60}\x1b[32m{'g' * 60}\x1b[0m\r\n"
    screen = drawn(line * 100, columns=80)
    screen.resize(70, LINES)
    assert [*dict.fromkeys(everything(screen))] == ["r" * 60 + "g" * 10, "g" * 50]
    first = screen.history[0]
    assert isinstance(first, Row)
    assert [look.foreground for look in first.looks] == [1] * 60 + [2] * 10


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b", " ", "日", "e\u0301"]), max_size=150).map(
            lambda all: "".join(all).rstrip()
        ),
        min_size=1,
        max_size=30,
    ),
    st.lists(st.tuples(st.integers(2, 120), st.integers(2, 30)), min_size=1, max_size=4),
)
def test_no_size_loses_a_letter(lines: list[str], sizes: list[tuple[int, int]]) -> None:
    screen = drawn("\r\n".join(lines), columns=80, lines=24)
    for columns, rows in sizes:
        screen.resize(columns, rows)
        assert all(len(row.texts) == len(row.looks) == columns for row in screen.rows)
        joined = [""]
        for line in [*screen.history, *screen.rows]:
            row = line if isinstance(line, Row) else as_row(line)
            joined[-1] += "".join(row.texts[: row.goes_on or None])
            if not row.goes_on:
                joined.append("")
        assert "\n".join(map(str.rstrip, joined)).rstrip("\n") == "\n".join(lines).rstrip("\n")
        assert screen.rows[screen.cursor.y].text().endswith(lines[-1][-1:])


def test_colours_are_those_of_the_sequence() -> None:
    screen = drawn("\x1b[1;38;2;1;2;3;48;5;7mx\x1b[22;39mY")
    assert screen.rows[0].looks[0] == Look(foreground=(1, 2, 3), background=7, bold=True)
    assert screen.rows[0].looks[1] == Look(background=7)


def test_the_terminal_answers_where_its_cursor_is_and_what_it_is() -> None:
    answers: list[str] = []
    Parser(Screen(80, 24), answers.append).feed("ab\r\ncd\x1b[6n\x1b[c\x1b[5n")
    assert answers == ["\x1b[2;3R", "\x1b[?62;22c", "\x1b[0n"]


def test_a_smaller_screen_keeps_the_line_of_the_cursor() -> None:
    screen = drawn("".join(f"line {n}\r\n" for n in range(8)) + "here")
    screen.resize(20, 4)
    assert shown(screen) == ["line 5", "line 6", "line 7", "here"]
    assert len(screen.history) == 5
    screen.resize(30, 6)
    assert shown(screen)[:4] == ["line 5", "line 6", "line 7", "here"]


@pytest.mark.parametrize(
    ("key", "character", "application", "expected"),
    [
        ("a", "a", False, "a"),
        ("up", None, False, "\x1b[A"),
        ("up", None, True, "\x1bOA"),
        ("ctrl+up", None, True, "\x1b[1;5A"),
        ("ctrl+c", "\x03", False, "\x03"),
        ("ctrl+d", None, False, "\x04"),
        ("enter", "\r", False, "\r"),
        ("backspace", "\x7f", False, "\x7f"),
        ("f1", None, False, "\x1bOP"),
        ("shift+f11", None, False, "\x1b[23;2~"),
        ("delete", None, False, "\x1b[3~"),
        ("shift+tab", None, False, "\x1b[Z"),
        ("alt+x", None, False, "\x1bx"),
        ("alt+3", None, False, "\x1b3"),
        ("alt+minus", None, False, "\x1b-"),
        ("plus", "+", False, "+"),
        ("some_key", None, False, None),
    ],
)
def test_keys_are_what_xterm_sends(
    key: str, character: str | None, application: bool, expected: str | None
) -> None:
    assert sequence(key, character, application) == expected


def test_escape_and_a_digit_is_alt_and_that_digit() -> None:
    """Told by the bytes that Textual's driver reads, and back to those that a program reads."""
    alt_is_alt()
    for letter in "0123456789-=":
        (key,) = XTermParser().feed(f"\x1b{letter}")
        assert isinstance(key, Key) and key.key.startswith("alt+") and not key.is_printable
        assert sequence(key.key, key.character, False) == f"\x1b{letter}"
    (key,) = XTermParser().feed("£")
    assert isinstance(key, Key) and key.character == "£"


def test_samples_of_output_draw_at_the_speed_of_a_fast_program() -> None:
    """A guard against drawing line by line what nobody sees; no time is measured, only what was drawn."""
    drawn_rows = []

    class Counting(Screen):
        def draw(self, text: str) -> None:
            drawn_rows.append(text)
            super().draw(text)

    screen = Counting(80, 24)
    Parser(screen).feed("".join(f"line {n}\r\n" for n in range(100_000)))
    assert len(drawn_rows) < 200
    assert screen.added == 100_000 - 23


def test_line_drawing_characters_are_drawn() -> None:
    """tmux captures the letters that stand for them."""
    assert shown(drawn("\x1b(0lqqk\r\nx  x\x1b(B end"))[:2] == ["┌──┐", "│  │ end"]


def test_half_of_a_wide_letter_takes_the_other_half_with_it() -> None:
    """tmux captures both, in fewer columns than they had."""
    assert shown(drawn("日本\x1b[2GX"))[0] == " X本"


def test_a_flood_that_redraws_its_line_is_drawn_to_its_end() -> None:
    """It is drawn a slice at a time, with pauses; the last of it is what stands there."""
    steps = 30_000

    async def main() -> list[str]:
        terminal = ProgramTerminal(40, 5)
        told = asyncio.Event()
        terminal.changed = told.set
        terminal.listen()
        script = (
            f"for n in range({steps}): print(chr(13) + chr(27) + '[32m' + str(n) + chr(27) + '[0m', end='')"
        )
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-c", f"{script}\nprint(); print('end', end='')", stdout=terminal.slave
        )
        terminal.started()

        async def drawn() -> None:
            while shown(terminal.screen)[1] != "end":
                told.clear()
                await told.wait()
            await program.wait()

        try:
            await asyncio.wait_for(drawn(), patient(60))
        finally:
            terminal.close()
        return shown(terminal.screen)

    assert asyncio.run(main())[:2] == [str(steps - 1), "end"]
