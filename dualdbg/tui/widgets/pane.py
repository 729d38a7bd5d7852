"""A pane: one line with its title and the titles of the panes that share its place, and its contents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from ...system.terminal_text import visible
from ..model.layout_presets import PANES
from .line_view import component_style

_REMARK = re.compile(r" \([^()]*\)$")  # the end of a note, left out where there is no room


class PaneTitle(Widget):
    """The line above a pane: the names of its place, the shown one marked, and a note on the right."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"title--shown", "title--hidden", "title--note"}

    class Clicked(Message):
        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    def render_line(self, y: int) -> Strip:
        pane = self.parent
        assert isinstance(pane, Pane)
        base = self.rich_style
        segments = []
        for name in self._tabs(pane):
            shown = name == pane.name_
            look = component_style(self, "title--shown" if shown else "title--hidden")
            segments.append(Segment(f" {PANES[name] if shown else _short(name, self, pane)} ", base + look))
        note = component_style(self, "title--note")
        room = self.size.width - sum(len(segment.text) for segment in segments) - 2
        text = pane.note if len(pane.note) <= room else _REMARK.sub("", pane.note)
        if len(text) > room:
            text = "…" + text[len(text) - room + 1 :]
        if text and room > 3:
            segments.append(Segment(f" {visible(text)}", base + note))
        return Strip(segments).crop_extend(0, self.size.width, base)

    def _tabs(self, pane: Pane) -> tuple[str, ...]:
        return pane.tabs if pane.name_ in pane.tabs else (pane.name_,)

    def on_click(self, event: events.Click) -> None:
        pane = self.parent
        assert isinstance(pane, Pane)
        at = 0
        for name in self._tabs(pane):
            at += len(PANES[name] if name == pane.name_ else _short(name, self, pane)) + 2
            if event.x < at:
                self.post_message(self.Clicked(name))
                return


def _short(name: str, title: PaneTitle, pane: Pane) -> str:
    """The full title where all have room, else its first letters."""
    full = sum(len(PANES[tab]) + 2 for tab in pane.tabs)
    if full <= title.size.width:
        return PANES[name]
    spare = title.size.width - len(PANES[pane.name_]) - 2
    each = spare // max(len(pane.tabs) - 1, 1) - 2
    return PANES[name][: max(each, 1)]


class Pane(Widget):
    """A title and one widget. ``name_`` is the pane's key in the presets."""

    note: reactive[str] = reactive("")
    tabs: reactive[tuple[str, ...]] = reactive(())

    def __init__(self, name: str, content: Widget) -> None:
        super().__init__(id=f"pane-{name}", classes="pane")
        self.name_ = name
        self.content = content
        self._title = PaneTitle()

    def compose(self) -> Iterable[Widget]:
        yield self._title
        yield self.content

    def mark(self, focused: bool) -> None:
        """Show whether keys go here. A CSS class of the pane would make Textual look up all styles in it."""
        self._title.set_class(focused, "focused")

    def on_descendant_focus(self) -> None:
        self.mark(True)

    def on_descendant_blur(self) -> None:
        self.mark(False)

    def watch_note(self) -> None:
        self._title.refresh()

    def watch_tabs(self) -> None:
        self._title.refresh()
