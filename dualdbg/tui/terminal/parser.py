"""Parses what a program writes, text and control sequences, for its screen (ECMA-48, and xterm's ctlseqs)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from .cells import select
from .reflow import COLOUR, Line, fitting
from .screen import Screen

_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f\x80-\x9f]+)"
    r"|\x1b\[(?P<csi>[\x30-\x3f]*)(?P<between>[\x20-\x2f]*)(?P<final>[\x40-\x7e])"
    r"|\x1b[\]PX^_](?P<string>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b(?P<charset>[()*+])(?P<set>.)"
    r"|\x1b(?P<escape>[\x20-\x2f]*[\x30-\x4f\x51-\x57\x59\x5a\x5c\x60-\x7e])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9f])",
    re.DOTALL,
)
_UNFINISHED = re.compile(r"\x1b(?:[\x20-\x2f]*|\[[\x20-\x3f]*|[()*+]|[\]PX^_][^\x07\x1b]*\x1b?)$")
_RESETS = ("\x1b[m", "\x1b[0m")
_OTHER_ESCAPE = re.compile(r"\x1b(?!\[[\d;]*m)")
_OTHER_CONTROLS = bytes({*range(32), 0x7F} - set(b"\t\n\r\x1b"))
_C1 = re.compile(rb"\xc2[\x80-\x9f]")  # the controls beyond ASCII, in UTF-8
_OTHER_RETURN = re.compile(r"\r(?!\r*\n)")
_LONGEST_STRING = 1 << 16  # an operating system command that does not end is given up


class Parser:
    """Feeds a screen. ``answer`` gets what the terminal has to say to the program (its cursor, what it is)."""

    def __init__(self, screen: Screen, answer: Callable[[str], None] = lambda _text: None) -> None:
        self._screen = screen
        self._answer = answer
        self._rest = ""

    def feed(self, text: str, most: int | None = None) -> str:
        """What was written, in pieces of any length; returns what is left after drawing about ``most`` characters."""
        text = self._rest + text
        self._rest = ""
        text = self._skip_what_nobody_sees(text)
        at = 0
        end = len(text) if most is None else min(len(text), most)
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                rest = text[at:]
                if len(rest) < _LONGEST_STRING and _UNFINISHED.match(rest):
                    self._rest = rest
                    return ""
                at += 1  # an escape that begins nothing
                continue
            at = match.end()
            _KINDS[match.lastgroup or "text"](self, match)
        return text[at:]

    def _skip_what_nobody_sees(self, text: str) -> str:
        """Put lines that would only scroll through into the history as they are; the rest is drawn.

        That is what makes 100,000 lines a second affordable. It is exact for lines of text and colours.
        """
        screen = self._screen
        shown = 2 * screen.lines
        count = text.count("\n")
        if count <= shown + screen.lines or not screen.scrolls_whole:
            return text
        start = text.index("\n") + 1
        full = _line_from_end(text, screen.lines, len(text))  # the lines up to there fill the screen
        end = _line_from_end(text, shown - screen.lines, full)
        skipped = text[start : end + 1]
        escape = text.rfind("\x1b", 0, start)
        if escape >= 0 and _UNFINISHED.match(text[escape:start]):  # it goes on in the next line
            return text
        if not _only_scrolls(text[start : full + 1]):
            return text
        self._draw(text[:start])
        if screen.cursor.x or screen.cursor.look.background is not None or not screen.scrolls_whole:
            return text[start:]
        screen.leave_behind()
        lines, most = count - shown, screen.history.maxlen or 0
        kept = skipped[:-1].rsplit("\n", most)[-min(lines, most) :]
        screen.added += lines - len(kept)
        screen.remember([*self._as_lines(kept)])
        for codes in COLOUR.findall(skipped, max(0, *map(skipped.rfind, _RESETS))):
            screen.cursor.look = select(screen.cursor.look, _numbers(codes, 0))
        return text[end + 1 :]

    def _draw(self, text: str) -> None:
        for match in _TOKEN.finditer(text):
            _KINDS[match.lastgroup or "text"](self, match)

    def _as_lines(self, texts: list[str]) -> Iterable[Line]:
        """The texts without their carriage returns, in pieces that fit the width."""
        return fitting((_expanded(text.rstrip("\r")) for text in texts), self._screen.columns)

    # -- kinds of tokens --------------------------------------------------------------------------

    def _text(self, match: re.Match[str]) -> None:
        self._screen.draw(match["text"])

    def _control(self, match: re.Match[str]) -> None:
        action = _CONTROLS.get(match["control"])
        if action is not None:
            action(self._screen)

    def _escape(self, match: re.Match[str]) -> None:
        action = _ESCAPES.get(match["escape"])
        if action is not None:
            action(self._screen)

    def _charset(self, match: re.Match[str]) -> None:
        if match["charset"] == "(":
            self._screen.cursor.graphics = match["set"] == "0"

    def _string(self, match: re.Match[str]) -> None:
        number, _, text = match["string"].partition(";")
        if match[0].startswith("\x1b]") and number in ("0", "2"):
            self._screen.title = text

    def _csi(self, match: re.Match[str]) -> None:
        parameters, final = match["csi"], match["final"]
        if match["between"]:
            return
        if parameters[:1] in ("<", "=", ">"):
            if parameters.startswith(">") and final == "c":
                self._answer("\x1b[>0;0;0c")
            return
        if parameters.startswith("?"):
            if final in "hl":
                for number in _numbers(parameters[1:], 0):
                    self._switch(number, final == "h")
            return
        if final == "m":
            cursor = self._screen.cursor
            cursor.look = select(cursor.look, _numbers(parameters.replace(":", ";"), 0))
        elif final in "hl":
            for number in _numbers(parameters, 0):
                if number == 4:
                    self._screen.modes.insert = final == "h"
                elif number == 20:
                    self._screen.modes.newline = final == "h"
        elif final in "nc":
            self._report(final, _numbers(parameters, 0)[0])
        elif final in _MOVES:
            _MOVES[final](self._screen, _numbers(parameters, 0))

    def _report(self, final: str, number: int) -> None:
        cursor = self._screen.cursor
        if final == "c":
            self._answer("\x1b[?62;22c")  # a VT220 with colours
        elif number == 5:
            self._answer("\x1b[0n")
        elif number == 6:
            self._answer(f"\x1b[{cursor.y + 1};{cursor.x + 1}R")

    def _switch(self, number: int, on: bool) -> None:
        screen, modes = self._screen, self._screen.modes
        if number in _FLAGS:
            setattr(modes, _FLAGS[number], on)
        elif number in (1000, 1002, 1003):
            modes.mouse = number if on else 0
        elif number in (47, 1047, 1049):
            if on:
                screen.show_alternate(number == 1049)
            else:
                screen.show_main(number == 1049)
        elif number == 1048:
            (screen.save_cursor if on else screen.restore_cursor)()
        if number == 6:
            screen.go(0, 0)


def _expanded(text: str) -> str:
    return text.expandtabs(8) if "\t" in text else text


def _line_from_end(text: str, count: int, end: int) -> int:
    """The place of the end of line that has ``count`` - 1 others between it and ``end``."""
    for _ in range(count):
        end = text.rindex("\n", 0, end)
    return end


def _only_scrolls(lines: str) -> bool:
    """Whether there is nothing but text, tabs and colours. Several simple searches: that is the fastest."""
    data = lines.encode("utf-8", "replace")
    if len(data.translate(None, _OTHER_CONTROLS)) != len(data) or _C1.search(data):
        return False
    if "\x1b" in lines and _OTHER_ESCAPE.search(lines):
        return False
    return lines.count("\r") == lines.count("\r\n") or not _OTHER_RETURN.search(lines)


def _numbers(text: str, default: int) -> list[int]:
    return [int(part) if part.isdecimal() else default for part in text.split(";")]


def _one(numbers: list[int]) -> int:
    return max(numbers[0], 1)


def _repeat(screen: Screen, numbers: list[int]) -> None:
    row, x = screen.rows[screen.cursor.y], screen.cursor.x
    before = row.texts[x if screen.cursor.wrap else max(x - 1, 0)]
    screen.draw(before * min(_one(numbers), screen.columns))


def _place(screen: Screen, numbers: list[int]) -> None:
    screen.go((numbers[1] if len(numbers) > 1 and numbers[1] else 1) - 1, _one(numbers) - 1)


_KINDS: dict[str, Callable[[Parser, re.Match[str]], None]] = {
    "text": Parser._text,
    "final": Parser._csi,
    "string": Parser._string,
    "set": Parser._charset,
    "escape": Parser._escape,
    "control": Parser._control,
}

_CONTROLS: dict[str, Callable[[Screen], None]] = {
    "\b": Screen.back_space,
    "\t": Screen.tab,
    "\n": Screen.line_feed,
    "\x0b": Screen.line_feed,
    "\x0c": Screen.line_feed,
    "\r": Screen.carriage_return,
    "\x84": Screen.line_feed,
    "\x8d": Screen.reverse_line_feed,
}

_ESCAPES: dict[str, Callable[[Screen], None]] = {
    "7": Screen.save_cursor,
    "8": Screen.restore_cursor,
    "#8": Screen.align,
    "D": Screen.line_feed,
    "E": Screen.next_line,
    "H": Screen.set_tab,
    "M": Screen.reverse_line_feed,
    "c": Screen.reset,
}

_MOVES: dict[str, Callable[[Screen, list[int]], None]] = {
    "@": lambda screen, numbers: screen.insert_letters(_one(numbers)),
    "A": lambda screen, numbers: screen.move(0, -_one(numbers)),
    "B": lambda screen, numbers: screen.move(0, _one(numbers)),
    "C": lambda screen, numbers: screen.move(_one(numbers), 0),
    "D": lambda screen, numbers: screen.move(-_one(numbers), 0),
    "E": lambda screen, numbers: screen.move(-screen.columns, _one(numbers)),
    "F": lambda screen, numbers: screen.move(-screen.columns, -_one(numbers)),
    "G": lambda screen, numbers: screen.go(_one(numbers) - 1),
    "H": _place,
    "I": lambda screen, numbers: screen.tab(),
    "J": lambda screen, numbers: screen.erase_display(numbers[0]),
    "K": lambda screen, numbers: screen.erase_line(numbers[0]),
    "L": lambda screen, numbers: screen.insert_lines(_one(numbers)),
    "M": lambda screen, numbers: screen.delete_lines(_one(numbers)),
    "P": lambda screen, numbers: screen.delete_letters(_one(numbers)),
    "S": lambda screen, numbers: screen.scroll_up(_one(numbers)),
    "T": lambda screen, numbers: screen.scroll_down(_one(numbers)),
    "X": lambda screen, numbers: screen.erase_letters(_one(numbers)),
    "Z": lambda screen, numbers: screen.back_tab(_one(numbers)),
    "`": lambda screen, numbers: screen.go(_one(numbers) - 1),
    "a": lambda screen, numbers: screen.move(_one(numbers), 0),
    "b": _repeat,
    "d": lambda screen, numbers: screen.go(None, _one(numbers) - 1),
    "e": lambda screen, numbers: screen.move(0, _one(numbers)),
    "f": _place,
    "g": lambda screen, numbers: screen.clear_tab(numbers[0]),
    "r": lambda screen, numbers: screen.set_region(*numbers[:2]),
    "s": lambda screen, numbers: screen.save_cursor(),
    "u": lambda screen, numbers: screen.restore_cursor(),
}

# DEC private modes that are plain flags (xterm's ctlseqs, "DEC Private Mode Set").
_FLAGS = {
    1: "application_cursor",
    6: "origin",
    7: "autowrap",
    25: "show_cursor",
    1006: "mouse_sgr",
    2004: "bracketed_paste",
}
