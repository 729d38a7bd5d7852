"""One whole value, in a window over the panes."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from ...terminal_text import visible, visible_text

_MOST = 20_000  # characters that are drawn


class Detail(ModalScreen[None]):
    """Escape, enter or q close it; y copies the value."""

    CSS = """
    Detail { align: center middle; }
    Detail > VerticalScroll { width: 90%; max-width: 120; height: auto; max-height: 80%; background: $surface;
                              border: round $primary; padding: 0 1; }
    Detail Static { width: 100%; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "dismiss", "Close"),
        Binding("y", "copy", "Copy"),
    ]

    def __init__(self, name: str, type_name: str, text: str) -> None:
        super().__init__()
        self._title = visible(f"{name}: {type_name}" if type_name else name)
        self._text = visible_text(text)
        self._shown = self._text[:_MOST]
        if len(text) > _MOST:
            self._shown += f"\n… {len(text) - _MOST} more characters: y copies them all"

    def compose(self) -> ComposeResult:
        box = VerticalScroll(Static(self._shown, markup=False))
        box.border_title = self._title.replace("[", "\\[")
        box.border_subtitle = "esc closes, y copies"
        yield box

    def action_copy(self) -> None:
        """Copy the value."""
        self.app.copy_to_clipboard(self._text)
