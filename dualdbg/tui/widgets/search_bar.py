"""The line at the bottom in which a search or a question is typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Label


class SearchBar(Horizontal):
    """Shown while it is used. ``typed`` hears every letter, ``entered`` the whole; both get None at escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close", show=False)]

    def __init__(self) -> None:
        super().__init__(id="search-bar")
        self._label = Label("")
        self._input = Input(compact=True, select_on_focus=False)  # what is to be changed stays
        self._typed: Callable[[str], object] = lambda _text: None
        self._entered: Callable[[str | None], None] = lambda _text: None

    def compose(self) -> ComposeResult:
        yield self._label
        yield self._input

    def on_mount(self) -> None:
        self.display = False

    def ask(
        self,
        question: str,
        entered: Callable[[str | None], None],
        typed: Callable[[str], object] = lambda _text: None,
        text: str = "",
    ) -> None:
        """Show it with a question; one of the two callbacks gets what is typed."""
        self._typed, self._entered = typed, entered
        self._label.update(f"{question} ")
        self.display = True
        with self.prevent(Input.Changed):
            self._input.value = text
            self._input.cursor_position = len(text)
        self.screen.set_focus(self._input)  # at once: the next key may be there already

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._typed(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.display = False
        self._entered(event.value)

    def action_leave(self) -> None:
        self.display = False
        self._entered(None)
