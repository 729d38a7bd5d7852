"""The stack pane: both languages in one list, binding layers folded, the boundary drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from ...console.names import computed_text, frame_place, native_tag
from ...known.short_names import short_function
from ...model import Frame, PythonFrame, Quality, Role, Stack
from ..model.looks import Part, fit, letters_in
from ..widgets.row_view import Row, RowsView


class Detail(Enum):
    """How much of the stack is shown."""

    FOLDED = "binding layers folded"
    GLUE = "binding layers shown"
    ALL = "all frames"

    def next(self) -> Detail:
        members = list(Detail)
        return members[(members.index(self) + 1) % len(members)]


@dataclass(frozen=True)
class Fold:
    """Frames of a binding layer that are shown as one line."""

    first: int
    frames: tuple[Frame, ...]


def stack_rows(stack: Stack, detail: Detail, opened: frozenset[int], selected: int) -> list[Row]:
    """The lines of a stack. ``opened``: the numbers of the first frames of folds that are shown.

    Frames have the numbers of ``frame N``; plumbing has none. The selected frame is never folded away.
    """
    frames = stack.frames if detail is Detail.ALL else stack.visible()
    numbers = {id(frame): number for number, frame in enumerate(stack.visible())}
    width = len(str(max(len(numbers) - 1, 0))) + 1
    rows: list[Row] = []
    language = None
    at = 0
    while at < len(frames):
        frame = frames[at]
        if language is not None and frame.language is not language:
            below = "Python" if isinstance(frame, PythonFrame) else "native code"
            rows.append(Row(("boundary", at), partial(_boundary, f"called by {below}")))
        language = frame.language
        number = numbers.get(id(frame))
        run = _fold(frames, at) if detail is Detail.FOLDED and number is not None else ()
        inside = range(number, number + len(run)) if number is not None else range(0)
        if len(run) > 1 and number not in opened and selected not in inside:
            assert number is not None
            rows.append(Row(("fold", number), partial(_folded, width, len(run)), Fold(number, run)))
            at += len(run)
            continue
        rows.append(
            Row(
                ("frame", number) if number is not None else ("plumbing", at),
                partial(_frame, frame, number, width, number == selected),
                number,
                "selected" if number is not None and number == selected else "",
            )
        )
        if frame.computes:
            rows.append(Row(("computes", at), partial(_computed, frame, width)))
        at += 1
    if stack.origin is not None:
        rows.append(Row("origin", partial(_boundary, stack.origin)))
    if stack.quality is not Quality.FULL:
        rows.append(Row("quality", partial(_quality, stack)))
    return rows


def _fold(frames: Sequence[Frame], first: int) -> tuple[Frame, ...]:
    """The binding layer's frames from ``first`` on."""
    end = first
    while end < len(frames) and frames[end].role is Role.GLUE:
        if frames[end].language is not frames[first].language:
            break
        end += 1
    return tuple(frames[first:end])


def _frame(frame: Frame, number: int | None, width: int, selected: bool, room: int) -> Sequence[Part]:
    look, tag = kind(frame)
    label = "" if number is None else f"#{number}"
    mark = "▸" if selected else " "
    start = f"{mark}{label:<{width}} "
    room -= len(start) + 5
    name = fit(short_function(frame.label, max(room, 8)), max(room, 8))  # that one counts letters
    place = _end(frame_place(frame), room - cell_len(name) - 1)
    return (start, "number"), (f"{tag:<4} ", look), (name, look), (f" {place}" if place else "", "dim")


def _computed(frame: Frame, width: int, room: int) -> Sequence[Part]:
    return ((fit(" " * (width + 2) + computed_text(frame), room), "dim"),)


def _end(text: str, room: int) -> str:
    """The end of a path, which says most; nothing where there is too little room."""
    if cell_len(text) <= room:
        return text
    return "…" + text[len(text) - letters_in(text[::-1], room - 1) :] if room >= 12 else ""


def _folded(width: int, count: int, room: int) -> Sequence[Part]:
    return ((fit(f" {'⋯':<{width}} glue {count} frames of the binding layer", room), "glue"),)


def _boundary(text: str, room: int) -> Sequence[Part]:
    line = f"── {text} "
    return ((fit(line + "─" * max(room - len(line), 0), room), "dim"),)


def _quality(stack: Stack, room: int) -> Sequence[Part]:
    note = f": {stack.note}" if stack.note else ""
    return ((fit(f"This stack is {stack.quality.value}{note}", room), "warning"),)


def kind(frame: Frame) -> tuple[str, str]:
    """The look of a frame and its tag, which says the language without colours too."""
    if frame.role is not Role.USER:
        tag = "py" if isinstance(frame, PythonFrame) else "glue" if frame.role is Role.GLUE else "int"
        return "glue", tag
    return ("python", "py") if isinstance(frame, PythonFrame) else ("native", native_tag(frame))


class StackView(RowsView):
    """Shows one thread's stack; moving the cursor selects the frame."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "detail", "All frames", id="stack.detail"),
        Binding("space", "unfold", "Unfold", show=False, id="stack.unfold"),
    ]

    class Selected(Message):
        """The user wants another frame, by its number."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("No stack: the target runs.", id=id)
        self.stack: Stack | None = None
        self.detail = Detail.FOLDED
        self.selected = 0
        self._opened: frozenset[int] = frozenset()

    def show_stack(self, stack: Stack, selected: int) -> None:
        """Show a stack; ``selected`` is the number of the chosen frame in it."""
        if self.stack is None or stack.thread != self.stack.thread:
            self._opened = frozenset()
        self.stack, self.selected = stack, selected
        self._draw()

    def clear(self, why: str) -> None:
        """Show why there is no stack."""
        self.stack, self.nothing = None, why
        self._opened = frozenset()
        self.show_rows(())

    def _draw(self) -> None:
        if self.stack is not None:
            rows = stack_rows(self.stack, self.detail, self._opened, self.selected)
            self.show_rows(rows, ("frame", self.selected))

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        row = self.current
        if row is not None and isinstance(row.thing, int) and row.thing != self.selected:
            self.post_message(self.Selected(row.thing))

    def action_detail(self) -> None:
        self.detail = self.detail.next()
        self._draw()
        self.app.notify(f"Stack: {self.detail.value}", timeout=2)

    def action_unfold(self) -> None:
        row = self.current
        if row is not None and isinstance(row.thing, Fold):
            self._opened |= {row.thing.first}
            assert self.stack is not None
            self.show_rows(stack_rows(self.stack, self.detail, self._opened, self.selected))

    def action_choose(self) -> None:
        row = self.current
        if row is not None and isinstance(row.thing, Fold):
            self.action_unfold()
        else:
            super().action_choose()
