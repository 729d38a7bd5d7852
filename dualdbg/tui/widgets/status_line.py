"""The line that gives the state in words, and on the right the work that takes long."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from ...terminal_text import visible
from ..model.looks import fit
from .line_view import component_style


class StatusLine(Widget):
    """``text`` gives the state; ``state`` is the CSS class of its colours; ``work`` is what is going on."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"status--work"}

    text: reactive[str] = reactive("starting")
    work: reactive[str] = reactive("")

    def set_state(self, state: str) -> None:
        """Take the colours of a state."""
        self.set_classes(f"-{state}")

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        base = self.rich_style
        work = f" {self.work} " if self.work else ""
        text = fit(visible(f" {self.text}"), max(width - len(work), 0))
        look = component_style(self, "status--work")
        return Strip(
            [Segment(f"{text:<{max(width - len(work), 0)}}", base), Segment(work, base + look)]
        ).crop(0, width)
