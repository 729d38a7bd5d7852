"""The prompt as a pane: what was said, and a line for commands with history and completion."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import ClassVar

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from ...system.terminal_text import visible
from ..model.looks import Part, letters_in
from ..widgets.line_view import LineView, mark

_MOST_LINES = 5000

Candidates = Callable[[str], Iterable["tuple[str, int]"]]
"""The completions for the end of a line, and how many of its last characters they replace."""

ValueNames = Callable[[str], Awaitable["tuple[list[str], int]"]]
"""The names for the end of a line with an expression, and how many of its last characters they replace."""


class _Said:
    """A line of the log. Its pieces are kept: the lines are drawn again whenever they move up."""

    __slots__ = ("_pieces", "text")

    def __init__(self, text: Text) -> None:
        self.text = text
        self._pieces: list[tuple[str, Style | None]] | None = None

    def pieces(self, console: Console) -> list[tuple[str, Style | None]]:
        if self._pieces is None:
            self._pieces = [
                (visible(segment.text), segment.style if isinstance(segment.style, Style) else None)
                for segment in self.text.render(console)
                if segment.text != "\n"
            ]
        return self._pieces


class Log(LineView):
    """Everything that was said, the newest at the end."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._said: deque[str] = deque(maxlen=_MOST_LINES)
        self._wrapped: list[_Said] = []
        self._width = 0
        self._open = ""  # a line whose end has not come yet

    def say(self, text: str) -> None:
        """Text with the colours of a terminal; it need not end with a line."""
        lines = (self._open + text).split("\n")
        self._open = lines.pop()
        self._said.extend(lines)
        fresh = [piece for line in lines for piece in self._wrap(line)]
        self._wrapped += fresh
        if len(self._wrapped) > 2 * _MOST_LINES:
            self._wrapped = self._wrapped[-_MOST_LINES:]
        self._follow()

    def say_from_its_start(self, text: str) -> None:
        """Text whose first lines matter most: where there is too little room, the last lines are out of sight."""
        first = self.line_count()
        self.say(text)
        self.scroll_to(y=first, animate=False, force=True, immediate=True)

    def page(self, by: int) -> None:
        """Scroll by so many pages, back where ``by`` is below zero."""
        self.scroll_to(y=self.scroll_offset.y + by * max(self.size.height - 1, 1), animate=False)

    def redraw(self) -> None:
        self.refresh()  # the view moves up with every line

    def clear(self) -> None:
        """Forget all that was said."""
        self._said.clear()
        self._wrapped.clear()
        self._follow()

    def _follow(self) -> None:
        self.lines_changed()
        self.cursor = self.line_count() - 1
        self.scroll_to(
            y=max(self.line_count() - self.size.height, 0), animate=False, force=True, immediate=True
        )

    def _wrap(self, line: str) -> list[_Said]:
        text = Text.from_ansi(line)
        if not self._width or text.cell_len <= self._width:
            return [_Said(text)]
        return [_Said(piece) for piece in text.divide(_breaks(text.plain, self._width))]

    def fit(self) -> None:
        if self.room != self._width:
            self._width = self.room
            self._wrapped = [piece for line in self._said for piece in self._wrap(line)]
        self._follow()

    def line_count(self) -> int:
        return len(self._wrapped)

    @property
    def shows_cursor(self) -> bool:
        return self.has_focus

    def parts(self, line: int, width: int) -> Sequence[Part]:
        return ((self._wrapped[line].text.plain, ""),)

    def render_line(self, y: int) -> Strip:
        line = y + self.scroll_offset.y
        base = self._base
        if line >= len(self._wrapped):
            return Strip.blank(self._columns, base)
        if line == self.cursor and self.shows_cursor:
            base += self.look("cursor")
        segments = [
            Segment(text, base + style if style is not None else base)
            for text, style in self._wrapped[line].pieces(self.app.console)
        ]
        if self.found:
            segments = mark(segments, self.found, self.look("found"))
        return Strip(segments).crop_extend(0, self._columns, base)


def _breaks(text: str, width: int) -> list[int]:
    """Where a line that is too long is broken: after a space if one is near, else where the room ends."""
    breaks = []
    start = 0
    while (room := letters_in(text[start:], width)) < len(text) - start:
        space = text.rfind(" ", start + room * 2 // 3, start + room)
        start = space + 1 if space >= 0 else start + max(room, 1)
        breaks.append(start)
    return breaks


class CommandLine(Input):
    """The line that is typed: up and down go through the history, tab completes, ctrl-r searches back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "older", "Older", show=False),
        Binding("down", "newer", "Newer", show=False),
        Binding("tab", "complete", "Complete", show=False, priority=True),
        Binding("ctrl+r", "search_back", "Search back", show=False),
        Binding("ctrl+l", "app.clear_prompt", "Clear", show=False),
        Binding("pageup", "app.page_prompt(-1)", "Back", show=False),
        Binding("pagedown", "app.page_prompt(1)", "Forth", show=False),
    ]

    class Offered(Message):
        """What could stand at the cursor."""

        def __init__(self, words: Sequence[str]) -> None:
            super().__init__()
            self.words = words

    def __init__(self, candidates: Candidates, value_names: ValueNames, history: list[str]) -> None:
        super().__init__(placeholder="a command; help lists them", id="command-line", compact=True)
        self._candidates = candidates
        self._value_names = value_names
        self.history = history
        self._at: int | None = None
        self._typed = ""

    def remember(self, command: str) -> None:
        """Add a command to the history, unless it is the newest there."""
        if command and (not self.history or self.history[-1] != command):
            self.history.append(command)
        self._at = None

    def _go(self, at: int | None) -> None:
        if self._at is None:
            self._typed = self.value
        self._at = at
        self.value = self._typed if at is None else self.history[at]
        self.cursor_position = len(self.value)

    def action_older(self) -> None:
        at = len(self.history) if self._at is None else self._at
        if at > 0:
            self._go(at - 1)

    def action_newer(self) -> None:
        if self._at is not None:
            self._go(self._at + 1 if self._at + 1 < len(self.history) else None)

    def action_search_back(self) -> None:
        """The newest older command that holds what was typed."""
        wanted = self._typed if self._at is not None else self.value
        start = len(self.history) if self._at is None else self._at
        for at in range(start - 1, -1, -1):
            if wanted in self.history[at]:
                self._go(at)
                return
        self.app.bell()

    async def action_complete(self) -> None:
        """Complete the word before the cursor, as far as all candidates agree, and offer these."""
        value, cursor = self.value, self.cursor_position
        before, after = value[:cursor], value[cursor:]
        names, length = await self._value_names(before)
        found = list(dict.fromkeys(_first(self._candidates(before), 200)))
        found += [(name, length) for name in names[:200]]
        if (self.value, self.cursor_position) != (value, cursor):
            return
        if not found:
            self.app.bell()
            return
        replaced = found[0][1]
        words = [word for word, _ in found]
        common = _common(words)
        if len(words) == 1 and not common.endswith(("/", "::")):
            common += " "
        if len(common) > replaced or len(words) == 1:
            kept = before[: len(before) - replaced] + common
            self.value = kept + after
            self.cursor_position = len(kept)
        self.post_message(self.Offered(words if len(words) > 1 else ()))

    def on_key(self, event: events.Key) -> None:
        if event.key not in ("tab",):
            self.post_message(self.Offered(()))


def _common(words: Sequence[str]) -> str:
    """The letters that all begin with."""
    shortest, longest = min(words), max(words)
    count = next((at for at, letter in enumerate(shortest) if longest[at : at + 1] != letter), len(shortest))
    return shortest[:count]


def _first(items: Iterable[tuple[str, int]], count: int) -> Iterator[tuple[str, int]]:
    for number, item in enumerate(items):
        if number == count:
            return
        yield item


class PromptView(Widget):
    """The log above the command line. Escape leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", show=False)]

    class Left(Message):
        """The user wants to be elsewhere."""

    class Entered(Message):
        """A command was typed."""

        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    def __init__(
        self, candidates: Candidates, value_names: ValueNames, history: list[str], *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.log_ = Log(id="log")
        self.line = CommandLine(candidates, value_names, history)
        self._hint = Static("", id="candidates")

    def compose(self) -> ComposeResult:
        yield self.log_
        yield self._hint
        yield self.line

    def action_leave(self) -> None:
        self.post_message(self.Left())

    def on_command_line_offered(self, message: CommandLine.Offered) -> None:
        if message.words:
            self._hint.update("  ".join(message.words[:40]))
        self._hint.display = bool(message.words)

    def on_mount(self) -> None:
        self._hint.display = False

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = event.value.removeprefix(":")  # the key that leads here is typed here too
        self.line.value = ""
        self.line.remember(text.strip())
        self._hint.display = False
        self.post_message(self.Entered(text))
