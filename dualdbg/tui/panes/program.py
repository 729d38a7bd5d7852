"""The program's terminal as a pane: what it draws, the keys it gets, and the lines that have scrolled by."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from ..model.looks import Part
from ..terminal.cells import Colour, Look, Row
from ..terminal.keys import sequence
from ..terminal.pty import ProgramTerminal
from ..terminal.reflow import as_row
from ..terminal.screen import Screen
from ..widgets.line_view import LineView


class ProgramView(LineView):
    """Keys go to the program while ``takes_keys`` is true, except those in ``kept``, which lead out of the pane."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+pageup", "page(-1)", "Back", show=False),
        Binding("shift+pagedown", "page(1)", "Forth", show=False),
    ]

    def __init__(self, terminal: ProgramTerminal | None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.terminal = terminal
        self.takes_keys: Callable[[], bool] = lambda: False
        self.kept: frozenset[str] = frozenset()
        self._follows = True
        if terminal is not None:
            terminal.changed = self._changed

    # -- what it shows ----------------------------------------------------------------------------

    @property
    def screen_(self) -> Screen | None:
        return self.terminal.screen if self.terminal is not None else None

    def line_count(self) -> int:
        screen = self.screen_
        if screen is None:
            return 0
        return screen.lines if screen.alternate else len(screen.history) + screen.lines

    def render_line(self, y: int) -> Strip:
        screen = self.screen_
        base = self._base
        if screen is None:
            return self._strip(self._nothing(y), base, 0, self._columns)
        line = y + self.scroll_offset.y
        past = 0 if screen.alternate else len(screen.history)
        if line < past:
            return self._history_line(line, screen, base)
        if line - past >= screen.lines:
            return Strip.blank(self._columns, base)
        row = screen.rows[line - past]
        segments = [Segment(text, base + style_of(look)) for text, look in row.runs()]
        strip = Strip(segments).crop_extend(0, self._columns, base)
        if self._shows_caret(screen) and line - past == screen.cursor.y:
            strip = _with_caret(strip, screen.cursor.x, base + Style(reverse=True))
        return self._marked(strip)

    def _history_line(self, line: int, screen: Screen, base: Style) -> Strip:
        one = screen.history[line]
        row = one if isinstance(one, Row) else as_row(one)
        segments = [Segment(text, base + style_of(look)) for text, look in row.runs()]
        return self._marked(Strip(segments).crop_extend(0, self._columns, base))

    def _marked(self, strip: Strip) -> Strip:
        if not self.found:
            return strip
        from ..widgets.line_view import mark

        return Strip(mark(list(strip), self.found, self.look("found")))

    def _shows_caret(self, screen: Screen) -> bool:
        return self.has_focus and screen.modes.show_cursor and self.takes_keys()

    def text(self, line: int) -> str:
        screen = self.screen_
        if screen is None:
            return ""
        past = 0 if screen.alternate else len(screen.history)
        if line >= past:
            return screen.rows[line - past].text()
        one = screen.history[line]
        return one.text() if isinstance(one, Row) else as_row(one).text()

    def parts(self, line: int, width: int) -> tuple[Part, ...]:
        return ((self.text(line), ""),)

    def empty(self) -> tuple[Part, ...]:
        return (("This target has its terminal elsewhere: it was not started here.", "dim"),)

    # -- changes ----------------------------------------------------------------------------------

    def _changed(self) -> None:
        if not self.is_attached or not self.display:
            return
        screen = self.screen_
        assert screen is not None
        count = self.line_count()
        self._resize_content(Size(1, count))
        if self._follows:
            self.scroll_to(y=max(count - self.size.height, 0), animate=False, force=True, immediate=True)
        self.refresh()

    def fit(self) -> None:
        if self.terminal is not None and self.room > 1 and self.size.height > 1:
            self.terminal.resize(self.room, self.size.height)
            self._follows = True
            self._changed()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._follows = round(new_value) >= self.line_count() - self.size.height

    def watch_cursor(self, old: int, new: int) -> None:
        self.show_line(new, centre=True)

    def action_page(self, by: int) -> None:
        self.scroll_to(y=max(self.scroll_offset.y + by * (self.size.height - 1), 0), animate=False)

    # -- keys and the mouse -----------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        terminal = self.terminal
        if terminal is None or event.key in self.kept or not self.takes_keys():
            return
        text = sequence(event.key, event.character, terminal.screen.modes.application_cursor)
        if text is None:
            return
        event.stop()
        event.prevent_default()
        self._to_the_end()
        terminal.send(text)

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return self.terminal is not None and key not in self.kept and self.takes_keys()

    def on_paste(self, event: events.Paste) -> None:
        if self.terminal is not None and self.takes_keys():
            event.stop()
            bracketed = self.terminal.screen.modes.bracketed_paste
            self.terminal.send(f"\x1b[200~{event.text}\x1b[201~" if bracketed else event.text)

    def _to_the_end(self) -> None:
        if not self._follows:
            self._follows = True
            self._changed()

    def on_click(self, event: events.Click) -> None:
        event.stop()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._mouse(event, event.button - 1, pressed=True)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._mouse(event, event.button - 1, pressed=False)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._mouse(event, 65, pressed=True)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._mouse(event, 64, pressed=True)

    def _mouse(self, event: events.MouseEvent, button: int, pressed: bool) -> None:
        """Report a mouse button to the program, if it has asked for reports (ctlseqs, "Mouse Tracking", SGR).

        Nothing else is done with it then.
        """
        screen = self.screen_
        offset = event.get_content_offset(self)
        if screen is None or self.terminal is None or offset is None or not self.takes_keys():
            return
        if not screen.modes.mouse or not screen.modes.mouse_sgr:
            return
        event.stop()
        event.prevent_default()  # Textual calls the handlers of the classes below too
        y = offset.y + self.scroll_offset.y - (0 if screen.alternate else len(screen.history))
        self.terminal.send(f"\x1b[<{max(button, 0)};{offset.x + 1};{y + 1}{'M' if pressed else 'm'}")


@lru_cache(maxsize=1024)
def style_of(look: Look) -> Style:
    return Style(
        color=_colour(look.foreground),
        bgcolor=_colour(look.background),
        bold=look.bold or None,
        dim=look.dim or None,
        italic=look.italic or None,
        underline=look.underline or None,
        reverse=look.reverse or None,
        strike=look.strike or None,
        conceal=look.conceal or None,
    )


def _colour(colour: Colour) -> Color | None:
    if colour is None:
        return None
    return Color.from_ansi(colour) if isinstance(colour, int) else Color.from_rgb(*colour)


def _with_caret(strip: Strip, x: int, style: Style) -> Strip:
    before, after = strip.crop(0, x), strip.crop(x + 1)
    under = strip.crop(x, x + 1).text or " "
    return Strip([*before, Segment(under, style), *after])
