"""A scrolling list of lines with a cursor and search: what every pane with text in it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from textwrap import wrap
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from ...system.terminal_text import visible
from ..model.looks import LOOKS, Part

_WHEEL = 3  # lines
_MOST_REMEMBERED = 1000  # lines that were drawn


class LineView(ScrollView, can_focus=True):
    """Lines that are made when they are shown. A subclass gives ``line_count`` and ``parts``."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"look--{name}" for name in LOOKS}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "Up", show=False),
        Binding("down,j", "cursor(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "edge(0)", "First line", show=False),
        Binding("end", "edge(1)", "Last line", show=False),
        Binding("shift+left", "sideways(-8)", "Left", show=False),
        Binding("shift+right", "sideways(8)", "Right", show=False),
        Binding("enter", "choose", "Choose", show=False),
        Binding("y", "copy", "Copy the line", show=False),
    ]

    cursor = reactive(0)

    class Chosen(Message):
        """Enter, or a double click, on the cursor's line."""

        def __init__(self, view: LineView, line: int) -> None:
            super().__init__()
            self.view = view
            self.line = line

        @property
        def control(self) -> LineView:
            return self.view

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        self._looks: dict[str, Style] = {}
        self._fitted = (0, 0)
        self._base = Style.null()  # of the drawing that is going on, and the columns it has
        self._columns = 0
        self._drawn: dict[int, object] = {}  # line -> what was last drawn of it
        super().__init__(id=id, classes=classes)
        self.found = ""  # what was searched for: marked where it stands

    # -- for subclasses ---------------------------------------------------------------------------

    def line_count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def parts(self, line: int, width: int) -> Sequence[Part]:
        """The pieces of a line and how each looks; ``width`` is what the view has room for."""
        raise NotImplementedError

    def line_look(self, line: int) -> str:
        """A look for a whole line, under those of its parts."""
        return ""

    def content_width(self) -> int:
        """Columns that can be scrolled to; 0 when lines are made to fit."""
        return 0

    def clicked(self, line: int, x: int) -> bool:
        """A click at column ``x`` of a line; True when the click has no other meaning."""
        return False

    def empty(self) -> Sequence[Part]:
        """What is shown when there are no lines."""
        return ()

    def fit(self) -> None:
        """The view has another size: what was in sight stays there."""
        self.show_line(self.cursor)

    # -- lines ------------------------------------------------------------------------------------

    def text(self, line: int) -> str:
        """The plain text of a line."""
        return "".join(text for text, _ in self.parts(line, self.content_width() or 10_000)).rstrip()

    def lines_changed(self) -> None:
        """The lines have changed."""
        count = self.line_count()
        self._resize_content(Size(max(self.content_width(), 1), max(count, 1)))
        self.set_reactive(LineView.cursor, min(self.cursor, max(count - 1, 0)))
        self.redraw()

    def _resize_content(self, size: Size) -> None:
        """Set the size of the contents. The whole screen is laid out again only where a scroll bar comes or goes."""
        before, room = self.virtual_size, self.container_size
        same_bars = (before.width > room.width, before.height > room.height) == (
            size.width > room.width,
            size.height > room.height,
        )
        if not same_bars:
            self.virtual_size = size
        elif size != before:
            self.set_reactive(Widget.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = size.height
            self.horizontal_scrollbar.window_virtual_size = size.width
            self.scroll_x = self.validate_scroll_x(self.scroll_x)
            self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def redraw(self) -> None:
        """Draw again what looks different from what is on the screen."""
        self._columns = self.room
        top = self.scroll_offset.y
        for line in range(top, top + self.size.height):
            if line not in self._drawn or self._drawn[line] != self._drawing(line):
                self.refresh_line(line)

    def _drawing(self, line: int) -> object:
        """Everything that decides how a line looks, except the style sheet, the search and the focus."""
        count = self.line_count()
        if line >= count:
            return None if count else self._nothing(line)
        return (
            self.line_look(line),
            line == self.cursor and self.shows_cursor,
            tuple(self.parts(line, self._columns)),
        )

    def _nothing(self, y: int) -> tuple[Part, ...]:
        """A line of what is shown when there are no lines."""
        lines = [(line, look) for text, look in self.empty() for line in wrap(text, max(self._columns, 1))]
        return (lines[y],) if y < len(lines) else ()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._base, self._columns = self.rich_style, self.room
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width, line = self._columns, top + y
        base = self._base
        if len(self._drawn) > _MOST_REMEMBERED:
            self._drawn.clear()
        drawing = self._drawn[line] = self._drawing(line)
        if self.line_count() == 0:
            return self._strip(self._nothing(y), base, 0, width)
        if not isinstance(drawing, tuple):
            return Strip.blank(width, base)
        look, has_cursor, parts = drawing
        if look:
            base += self.look(look)
        if has_cursor:
            base += self.look("cursor" if self.has_focus else "cursor-away")
        return self._strip(parts, base, left, width)

    @property
    def room(self) -> int:
        """The columns that text has, without the scroll bar."""
        return self.scrollable_content_region.width

    @property
    def shows_cursor(self) -> bool:
        """Whether the line of the cursor is marked."""
        return True

    def look(self, name: str) -> Style:
        """The style of a look by its name, as dashboard.tcss has it."""
        if name not in self._looks:
            self._looks[name] = component_style(self, f"look--{name}")
        return self._looks[name]

    def on_mount(self) -> None:
        # Textual leaves out the Resize event of a widget whose place was asked for before the layout was done.
        self.screen.screen_layout_refresh_signal.subscribe(self, self._laid_out)

    def _laid_out(self, _screen: Screen[object]) -> None:
        if self.display and (self.room, self.size.height) != self._fitted:
            self._fitted = self.room, self.size.height
            self.fit()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.clear()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Does not look up the style sheet again: nothing in it depends on the focus, and drawing is faster."""

    def _strip(self, parts: Sequence[Part], base: Style, left: int, width: int) -> Strip:
        segments = [
            Segment(visible(text), base + self.look(look) if look else base) for text, look in parts if text
        ]
        if self.found:
            segments = mark(segments, self.found, self.look("found"))
        return Strip(segments).crop_extend(left, left + width, base)

    # -- moving -----------------------------------------------------------------------------------

    def validate_cursor(self, line: int) -> int:
        return min(max(line, 0), max(self.line_count() - 1, 0))

    def watch_cursor(self, old: int, new: int) -> None:
        """The cursor has moved: its line comes into sight."""
        self.show_line(new)
        self.refresh_line(old)
        self.refresh_line(new)

    def show_line(self, line: int, centre: bool = False) -> None:
        """Scroll so that a line is in sight."""
        height = self.size.height
        top = self.scroll_offset.y
        if not height or (top <= line < top + height and not centre):
            return
        middle = centre or not top - height <= line < top + 2 * height
        wanted = line - height // 2 if middle else line if line < top else line - height + 1
        self.scroll_to(y=max(wanted, 0), animate=False, immediate=True)

    def action_cursor(self, by: int) -> None:
        self.cursor += by

    def action_page(self, by: int) -> None:
        self.cursor += by * max(self.size.height - 1, 1)

    def action_edge(self, last: int) -> None:
        self.cursor = self.line_count() - 1 if last else 0

    def action_sideways(self, by: int) -> None:
        self.scroll_to(x=max(self.scroll_offset.x + by, 0), animate=False)

    def action_choose(self) -> None:
        """Tell that the line of the cursor is chosen."""
        if self.line_count():
            self.post_message(self.Chosen(self, self.cursor))

    def action_copy(self) -> None:
        """Copy the line of the cursor."""
        if self.line_count():
            self.app.copy_to_clipboard(self.text(self.cursor).strip())

    # -- the mouse --------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        line = offset.y + self.scroll_offset.y
        if line >= self.line_count():
            return
        self.cursor = line
        if not self.clicked(line, offset.x + self.scroll_offset.x) and event.chain >= 2:
            self.action_choose()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll by some lines."""
        self._turn_wheel(event, _WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll back by some lines."""
        self._turn_wheel(event, -_WHEEL)

    def _turn_wheel(self, event: events.MouseEvent, lines: int) -> None:
        if event.ctrl or event.shift:
            return  # Textual's own answer scrolls sideways
        event.stop()
        event.prevent_default()  # else Textual scrolls as well
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False)

    # -- search -----------------------------------------------------------------------------------

    def search(self, text: str, forward: bool = True, again: bool = False) -> bool:
        """Go to the next line that holds ``text`` (small letters stand for capitals too); False when none does."""
        self.found = text
        self.refresh()
        count = self.line_count()
        if not text or not count:
            return not text
        step = 1 if forward else -1
        start = self.cursor + (step if again else 0)
        for distance in range(count):
            line = (start + step * distance) % count
            if _position(self.text(line), text, 0) >= 0:
                self.cursor = line
                return True
        return False

    def refresh_line(self, line: int) -> None:
        self.refresh(Region(0, line - self.scroll_offset.y, self.size.width, 1))


def component_style(widget: Widget, name: str) -> Style:
    """The style sheet's style for a part of a widget, nothing else; transparent colours are mixed."""
    styles = widget.get_component_styles(name)
    mixed = widget.get_component_rich_style(name)
    return Style.combine(
        [
            styles.text_style,
            Style(
                color=mixed.color if styles.has_rule("color") else None,
                bgcolor=mixed.bgcolor if styles.has_rule("background") else None,
            ),
        ]
    )


def _position(line: str, text: str, start: int) -> int:
    return line.find(text, start) if text != text.lower() else line.lower().find(text, start)


def mark(segments: list[Segment], text: str, style: Style) -> list[Segment]:
    """The same segments with every occurrence of ``text`` marked, also across their borders."""
    line = "".join(segment.text for segment in segments)
    cuts = []
    at = _position(line, text, 0)
    while at >= 0:
        cuts.append((at, at + len(text)))
        at = _position(line, text, at + len(text))
    if not cuts:
        return segments
    marked: list[Segment] = []
    at = 0
    for segment in segments:
        end = at + len(segment.text)
        borders = sorted({at, end, *(edge for cut in cuts for edge in cut if at < edge < end)})
        for start, stop in pairwise(borders):
            inside = any(first <= start < last for first, last in cuts)
            base = segment.style or Style.null()
            marked.append(Segment(segment.text[start - at : stop - at], base + style if inside else base))
        at = end
    return marked
