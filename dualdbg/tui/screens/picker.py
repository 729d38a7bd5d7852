"""Chooses a process when no target was named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer, Input, Static

from ..model.looks import Part, fit
from ..widgets.line_view import LineView
from ..widgets.row_view import Row, RowsView


@dataclass(frozen=True)
class Candidate:
    """A process that could be attached to. ``cpu``: its share of a processor since its start, ``age`` seconds ago.

    ``trouble`` is why it cannot be attached to, if it cannot.
    """

    pid: int
    command: str
    user: str
    python: str
    torch: bool
    threads: int
    cpu: float
    age: float
    trouble: str = ""


def candidate_rows(candidates: Sequence[Candidate], wanted: str) -> list[Row]:
    """A row for each candidate that holds every word of ``wanted``."""
    words = wanted.lower().split()
    return [
        Row(one.pid, partial(_draw, one), one)
        for one in candidates
        if all(word in f"{one.pid} {one.user} {one.command}".lower() for word in words)
    ]


def _draw(one: Candidate, room: int) -> Sequence[Part]:
    torch = "yes" if one.torch else "-"
    start = (
        f"{one.pid:>8} {one.user[:8]:<8} {one.python:>6} {torch:>5} {one.threads:>4} {one.cpu:>4.0%} "
        f"{age(one.age):>4} "
    )
    look = "dim" if one.trouble else ""
    text = f"{one.command}  ({one.trouble})" if one.trouble else one.command
    return (start, "number"), (fit(text, max(room - len(start), 8)), look)


def age(seconds: float) -> str:
    """In its largest unit: 12s, 5m, 3h, 2d."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


class ProcessPicker(App[int]):
    """A list of processes with a filter. Its result is the id of the chosen process; None when the user left."""

    CSS_PATH = "../dashboard.tcss"
    CSS = """
    #filter { height: 1; border: none; background: $surface; padding: 0 1; }
    #heading { height: 1; background: $panel; text-style: bold; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Attach", priority=True),
        Binding("down", "move(1)", "Down", show=False, priority=True),
        Binding("up", "move(-1)", "Up", show=False, priority=True),
        Binding("f5", "refresh", "Look again"),
        Binding("escape,ctrl+q,ctrl+c", "leave", "Leave", priority=True),
    ]

    def __init__(self, look: Callable[[], Sequence[Candidate]]) -> None:
        super().__init__()
        self._look = look
        self._candidates: Sequence[Candidate] = ()
        self.list = RowsView("No such process.")
        self._filter = Input(placeholder="type to filter", id="filter", compact=True)

    def compose(self) -> ComposeResult:
        yield Static("     PID USER     PYTHON TORCH THRD  CPU  AGE COMMAND", id="heading")
        yield self.list
        yield self._filter
        yield Footer(compact=True)

    def on_mount(self) -> None:
        self.action_refresh()
        self._filter.focus()

    def action_refresh(self) -> None:
        self._candidates = self._look()
        self._show()

    def _show(self) -> None:
        self.list.show_rows(candidate_rows(self._candidates, self._filter.value))

    def on_input_changed(self) -> None:
        self._show()

    def action_move(self, by: int) -> None:
        self.list.cursor += by

    def action_choose(self) -> None:
        row = self.list.current
        if row is None:
            return
        if row.thing.trouble:
            self.notify(row.thing.trouble, severity="warning", markup=False)
        else:
            self.exit(row.thing.pid)

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        self.action_choose()

    def action_leave(self) -> None:
        self.exit(None)
