"""The line that says in words what holds, and on the right what takes long."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from .lines import component_style
from .looks import fit, visible


class StatusLine(Widget):
    """``text`` says what holds; ``state`` is the class of its colours; ``work`` what is going on."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"status--work"}

    text: reactive[str] = reactive("starting")
    work: reactive[str] = reactive("")

    def set_state(self, state: str) -> None:
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
