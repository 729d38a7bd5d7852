"""The screen of a terminal: cells, a cursor and what control sequences do to them. Knows no bytes and no widgets."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

from .cells import PLAIN, Look, Row
from .reflow import Line, Place, refit, reflow

HISTORY = 10_000  # lines that have left the screen and are kept


@dataclass
class Cursor:
    """Where the next character goes, and how it will look. ``wrap``: the last column has just been written."""

    x: int = 0
    y: int = 0
    look: Look = PLAIN
    wrap: bool = False
    graphics: bool = False  # the DEC line-drawing characters are in use


@dataclass
class Modes:
    """What a program can switch (DECSET and the like)."""

    application_cursor: bool = False
    autowrap: bool = True
    insert: bool = False
    origin: bool = False
    newline: bool = False
    show_cursor: bool = True
    bracketed_paste: bool = False
    mouse: int = 0  # 0, or 1000, 1002, 1003: what is reported
    mouse_sgr: bool = False


class Screen:
    """A grid of cells as xterm has it, with an alternate screen and a history."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self.history: deque[Line] = deque(maxlen=HISTORY)
        self.added = 0  # how many lines ever went to the history
        self.title = ""
        self.modes = Modes()
        self.cursor = Cursor()
        self._rows = [Row(columns) for _ in range(lines)]
        self._main: list[Row] | None = None  # while the alternate screen is shown
        self._saved = Cursor()
        self._saved_main = Cursor()
        self._top, self._bottom = 0, lines - 1
        self._tabs = set(range(0, 1000, 8))

    @property
    def rows(self) -> list[Row]:
        """The lines that are shown, those of the alternate screen while that is shown."""
        return self._rows

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is shown."""
        return self._main is not None

    @property
    def scrolls_whole(self) -> bool:
        """Whether a line that leaves at the top goes to the history."""
        return self._main is None and self._top == 0 and self._bottom == self.lines - 1

    def resize(self, columns: int, lines: int) -> None:
        """Take a new size. Lines of the main screen and the history are broken anew, nothing of them is lost.

        The alternate screen is cut or filled: a program that uses it draws it again. Lines of the main screen that no
        longer fit go to the history.
        """
        if (columns, lines) == (self.columns, self.lines):
            return
        cursor = self.cursor
        if self._main is None:
            self._rows, place = self._fit_main(self._rows, cursor, columns, lines)
        else:
            self._main, saved = self._fit_main(self._main, self._saved_main, columns, lines)
            self._saved_main.y, self._saved_main.x = saved.row, min(saved.x, columns - 1)
            self._rows = self._fit_alternate(columns, lines)
            place = Place(min(cursor.y, lines - 1), min(cursor.x, columns - 1))
        self._place(min(place.x, columns - 1), place.row)
        cursor.wrap = place.x == columns and self.modes.autowrap
        self.columns, self.lines = columns, lines
        self._top, self._bottom = 0, lines - 1

    def _fit_main(self, rows: list[Row], cursor: Cursor, columns: int, lines: int) -> tuple[list[Row], Place]:
        """The rows of the main screen in the new size, and where its cursor is in them."""
        history = list(self.history)
        last_text = max((at for at, line in enumerate(history, 1) if isinstance(line, str)), default=0)
        past = [
            row for row in history[last_text:] if isinstance(row, Row)
        ]  # its last line may go on in the screen
        here = Place(len(past) + cursor.y, cursor.x + cursor.wrap)
        broken, (top, here) = reflow([*past, *rows], columns, [Place(len(past), 0), here])
        first = max(top.row, here.row - lines + 1)
        self.history = deque([*refit(history[:last_text], columns), *broken[:first]], maxlen=HISTORY)
        self.added += first - top.row
        kept = broken[first : first + lines]
        return [*kept, *(Row(columns) for _ in range(lines - len(kept)))], Place(here.row - first, here.x)

    def _fit_alternate(self, columns: int, lines: int) -> list[Row]:
        surplus = max(self.cursor.y - lines + 1, 0)
        kept = self._rows[surplus : surplus + lines]
        for row in kept:
            row.resize(columns)
        return [*kept, *(Row(columns) for _ in range(lines - len(kept)))]

    def remember(self, lines: Sequence[Line]) -> None:
        """Lines that have left the screen at its top."""
        self.history.extend(lines)
        self.added += len(lines)

    # -- text -----------------------------------------------------------------------------------

    def draw(self, text: str) -> None:
        """Printable characters at the cursor."""
        if self.cursor.graphics:
            text = text.translate(_GRAPHICS)
        if text.isascii() and not self.modes.insert:
            self._draw_narrow(text)
        else:
            for letter in text:
                self._draw_letter(letter, cell_len(letter))

    def _draw_narrow(self, text: str) -> None:
        at = 0
        while at < len(text):
            if self.cursor.wrap:
                self._wrap()
            cursor = self.cursor
            piece = text[at : at + self.columns - cursor.x]
            end = cursor.x + len(piece)
            if not self.modes.autowrap and len(piece) < len(text) - at:
                piece = piece[:-1] + text[-1]
                at = len(text)
            row = self._rows[cursor.y]
            self._split_wide(row, cursor.x, end)
            row.texts[cursor.x : end] = piece
            row.looks[cursor.x : end] = [cursor.look] * len(piece)
            at += len(piece)
            self._advance(end)

    def _draw_letter(self, letter: str, width: int) -> None:
        if width == 0:
            self._combine(letter)
            return
        if self.cursor.wrap or (self.cursor.x + width > self.columns and self.modes.autowrap):
            self._wrap()
        cursor = self.cursor
        row = self._rows[cursor.y]
        if self.modes.insert:
            row.texts[cursor.x : cursor.x] = [" "] * width
            row.looks[cursor.x : cursor.x] = [cursor.look] * width
            row.resize(self.columns)
        end = min(cursor.x + width, self.columns)
        self._split_wide(row, cursor.x, end)
        row.texts[cursor.x : end] = [letter, ""][: end - cursor.x]
        row.looks[cursor.x : end] = [cursor.look] * (end - cursor.x)
        self._advance(end)

    def _advance(self, x: int) -> None:
        """Move the cursor behind a character. From the last column it goes to the next line with the next character."""
        full = x == self.columns
        self.cursor.x = x - 1 if full else x
        self.cursor.wrap = full and self.modes.autowrap

    def _combine(self, mark: str) -> None:
        """An accent of the character before the cursor."""
        row, x = self._rows[self.cursor.y], self.cursor.x
        x = x if self.cursor.wrap else x - 1
        while x > 0 and row.texts[x] == "":
            x -= 1
        if x >= 0:
            row.texts[x] += mark

    def _split_wide(self, row: Row, start: int, end: int) -> None:
        """Half of a wide character that is overwritten takes the other half with it."""
        if start < len(row.texts) and row.texts[start] == "" and start:
            row.texts[start - 1] = " "
        if end < len(row.texts) and row.texts[end] == "":
            row.texts[end] = " "

    def _wrap(self) -> None:
        """To the next row in the middle of a line."""
        cursor = self.cursor
        self._rows[cursor.y].goes_on = self.columns if cursor.wrap else cursor.x
        self._place(0, cursor.y)
        self.line_feed()

    # -- moving ---------------------------------------------------------------------------------

    def _place(self, x: int, y: int) -> None:
        self.cursor.x, self.cursor.y, self.cursor.wrap = x, y, False

    def line_feed(self) -> None:
        """LF: one line down; at the end of the scroll region the lines move up."""
        cursor = self.cursor
        if cursor.y == self._bottom:
            self.scroll_up(1)
        elif cursor.y < self.lines - 1:
            self._place(cursor.x, cursor.y + 1)
        if self.modes.newline:
            self.carriage_return()

    def next_line(self) -> None:
        """NEL: to the beginning of the next line."""
        self.carriage_return()
        self.line_feed()

    def reverse_line_feed(self) -> None:
        """RI: one line up; at the beginning of the scroll region the lines move down."""
        if self.cursor.y == self._top:
            self.scroll_down(1)
        else:
            self.move(0, -1)

    def carriage_return(self) -> None:
        """CR: to the first column."""
        self._place(0, self.cursor.y)

    def back_space(self) -> None:
        """BS: one column to the left."""
        self.move(-1, 0)

    def tab(self) -> None:
        """HT: to the next tab stop, or the last column."""
        later = [stop for stop in self._tabs if stop > self.cursor.x]
        x = min(min(later, default=self.columns - 1), self.columns - 1)
        if x > self.cursor.x:  # else what has filled the row still goes on in the next one
            self._place(x, self.cursor.y)

    def back_tab(self, count: int = 1) -> None:
        """CBT: to the ``count``-th tab stop before the cursor, or the first column."""
        for _ in range(count):
            earlier = [stop for stop in self._tabs if stop < self.cursor.x]
            self._place(max(earlier, default=0), self.cursor.y)

    def set_tab(self) -> None:
        """HTS: a tab stop at the cursor."""
        self._tabs.add(self.cursor.x)

    def clear_tab(self, what: int = 0) -> None:
        """TBC: no tab stop at the cursor (0), or none at all (3)."""
        if what == 3:
            self._tabs.clear()
        else:
            self._tabs.discard(self.cursor.x)

    def move(self, x: int, y: int) -> None:
        """Relative; the cursor stays inside the scrolling region when it was there."""
        cursor = self.cursor
        top, bottom = 0, self.lines - 1
        if self._top <= cursor.y <= self._bottom:
            top, bottom = self._top, self._bottom
        self._place(
            min(max(cursor.x + x, 0), self.columns - 1),
            min(max(cursor.y + y, top), bottom),
        )

    def go(self, x: int | None = None, y: int | None = None) -> None:
        """To a column and a line, from 0 on."""
        cursor = self.cursor
        if y is not None and self.modes.origin:
            y = min(y + self._top, self._bottom)
        self._place(
            cursor.x if x is None else min(max(x, 0), self.columns - 1),
            cursor.y if y is None else min(max(y, 0), self.lines - 1),
        )

    def save_cursor(self) -> None:
        """DECSC: keep the cursor and how it draws."""
        self._saved = replace(self.cursor)

    def restore_cursor(self) -> None:
        """DECRC: the cursor as it was kept."""
        self.cursor = self._fitting(self._saved)

    def _fitting(self, saved: Cursor) -> Cursor:
        return replace(saved, x=min(saved.x, self.columns - 1), y=min(saved.y, self.lines - 1), wrap=False)

    # -- scrolling and erasing --------------------------------------------------------------------

    def set_region(self, top: int = 1, bottom: int = 0) -> None:
        """DECSTBM; lines from 1 on, ``bottom`` 0 means the last."""
        first, last = max(top, 1) - 1, (bottom or self.lines) - 1
        last = min(last, self.lines - 1)
        if first < last:
            self._top, self._bottom = first, last
            self.go(0, 0)

    def scroll_up(self, count: int = 1) -> None:
        """SU: lines move up in the scroll region; those that leave a whole screen go to the history."""
        keeps = self.scrolls_whole
        if not keeps:
            self._end_above(self._top)
        for _ in range(min(count, self._bottom - self._top + 1)):
            row = self._rows.pop(self._top)
            if keeps:
                self.history.append(row)
                self.added += 1
            self._rows.insert(self._bottom, Row(self.columns, self._blank()))

    def scroll_down(self, count: int = 1) -> None:
        """SD: lines move down in the scroll region."""
        self._end_above(self._top)
        for _ in range(min(count, self._bottom - self._top + 1)):
            del self._rows[self._bottom]
            self._rows.insert(self._top, Row(self.columns, self._blank()))
        self._rows[self._bottom].goes_on = 0

    def insert_lines(self, count: int = 1) -> None:
        """IL: blank lines at the cursor; the rest of the scroll region moves down."""
        if self._top <= self.cursor.y <= self._bottom:
            self._end_above(self.cursor.y)
            for _ in range(min(count, self._bottom - self.cursor.y + 1)):
                del self._rows[self._bottom]
                self._rows.insert(self.cursor.y, Row(self.columns, self._blank()))
            self._rows[self._bottom].goes_on = 0
            self.carriage_return()

    def delete_lines(self, count: int = 1) -> None:
        """DL: lines at the cursor go; the rest of the scroll region moves up."""
        if self._top <= self.cursor.y <= self._bottom:
            self._end_above(self.cursor.y)
            self._rows[self._bottom].goes_on = 0
            for _ in range(min(count, self._bottom - self.cursor.y + 1)):
                del self._rows[self.cursor.y]
                self._rows.insert(self._bottom, Row(self.columns, self._blank()))
            self.carriage_return()

    def insert_letters(self, count: int = 1) -> None:
        """ICH: blanks at the cursor; the rest of the line moves right."""
        row, x = self._rows[self.cursor.y], self.cursor.x
        count = min(count, self.columns - x)
        row.texts[x:x] = [" "] * count
        row.looks[x:x] = [self._blank()] * count
        row.resize(self.columns)

    def delete_letters(self, count: int = 1) -> None:
        """DCH: letters at the cursor go; the rest of the line moves left."""
        row, x = self._rows[self.cursor.y], self.cursor.x
        del row.texts[x : x + count]
        del row.looks[x : x + count]
        missing = self.columns - len(row.texts)
        row.texts += [" "] * missing
        row.looks += [self._blank()] * missing

    def erase_letters(self, count: int = 1) -> None:
        """ECH: ``count`` letters at the cursor become blanks."""
        self._erase(self.cursor.y, self.cursor.x, self.cursor.x + max(count, 1))

    def erase_line(self, what: int = 0) -> None:
        """EL: 0 from the cursor on, 1 up to the cursor, 2 all."""
        start = 0 if what else self.cursor.x
        end = self.cursor.x + 1 if what == 1 else self.columns
        self._erase(self.cursor.y, start, end)

    def erase_display(self, what: int = 0) -> None:
        """ED: 0 from the cursor on, 1 up to the cursor, 2 all, 3 the history too."""
        if what == 3:
            self.history.clear()
            return
        y = self.cursor.y
        lines = {0: range(y + 1, self.lines), 1: range(y)}.get(what, range(self.lines))
        for line in lines:
            self._erase(line, 0, self.columns)
        if what in (0, 1):
            self.erase_line(what)

    def _erase(self, y: int, start: int, end: int) -> None:
        row, end = self._rows[y], min(end, self.columns)
        self._split_wide(row, start, end)
        row.texts[start:end] = [" "] * (end - start)
        row.looks[start:end] = [self._blank()] * (end - start)
        if end == self.columns:
            row.goes_on = 0
            if start == 0:
                self._end_above(y)

    def _end_above(self, y: int) -> None:
        """What stood in this row is gone, or elsewhere: the row above it has the end of its line."""
        if y:
            self._rows[y - 1].goes_on = 0
        elif self._main is None and self.history and isinstance(self.history[-1], Row):
            self.history[-1].goes_on = 0

    def _blank(self) -> Look:
        """What is erased takes the background colour (the bce of terminfo)."""
        background = self.cursor.look.background
        return PLAIN if background is None else Look(background=background)

    def align(self) -> None:
        """DECALN: the screen full of E, by which terminals are tested."""
        for row in self._rows:
            row.texts[:] = "E" * self.columns
            row.looks[:] = [PLAIN] * self.columns

    # -- whole screens ----------------------------------------------------------------------------

    def show_alternate(self, save_cursor: bool) -> None:
        """Show the alternate screen, blank. ``save_cursor`` keeps the cursor of the main one."""
        if self._main is None:
            if save_cursor:
                self._saved_main = replace(self.cursor)
            self._main = self._rows
            self._rows = [Row(self.columns) for _ in range(self.lines)]

    def show_main(self, restore_cursor: bool) -> None:
        """Show the main screen. ``restore_cursor``: with the cursor that was kept of it."""
        if self._main is not None:
            self._rows, self._main = self._main, None
            self._top, self._bottom = 0, self.lines - 1
            if restore_cursor:
                self.cursor = self._fitting(self._saved_main)

    def reset(self) -> None:
        """RIS: as it was when it was switched on; the history stays."""
        self.show_main(False)
        self._rows = [Row(self.columns) for _ in range(self.lines)]
        self.cursor, self._saved = Cursor(), Cursor()
        self.modes = Modes()
        self._top, self._bottom = 0, self.lines - 1
        self._tabs = set(range(0, 1000, 8))

    def leave_behind(self) -> None:
        """Everything on the screen up to the cursor's line goes to the history, and the screen is empty."""
        self.remember(self._rows[: self.cursor.y])
        current = self._rows[self.cursor.y]
        self._rows = [current, *(Row(self.columns) for _ in range(self.lines - 1))]
        self._place(self.cursor.x, 0)


# The VT100's special graphics, for a program that has switched to them (VT100 User Guide, table 3-9).
_GRAPHICS = str.maketrans("`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
