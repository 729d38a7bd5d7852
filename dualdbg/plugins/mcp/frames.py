"""Stacks as a reader with a budget wants them: binding layers folded, a part of the frames at a time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ...console.names import lines_text
from ...console.printer import Printer
from ...console.reports import StackReport, numbered
from ...console.style import Style
from ...known.short_names import short_function
from ...model import Frame, NativeFrame, Quality, Role, Stack
from .answers import FrameRow
from .bounds import LONGEST_NAME, Part, line, part_of, size_of

Numbered = tuple["int | None", Frame]
Locals = Mapping[int, Sequence[tuple[str, str]]]
"""By the position of a frame in its stack: names and values."""

_LONGEST_LOCAL = 200  # characters
_PRINTER = Printer(Style())


@dataclass(frozen=True)
class Shown:
    """A part of a stack. ``part`` counts frames and folded runs alike as rows."""

    stack: Stack
    rows: tuple[tuple[Numbered, ...], ...]
    part: Part
    locals: Locals

    def as_rows(self) -> list[FrameRow]:
        """The structured form."""
        return [self._row(run) for run in self.rows]

    def within(self, budget: int) -> Shown:
        """As many of the rows as have so many characters, and the first one in any case."""
        kept = 0
        for row in self.as_rows():
            budget -= size_of(row)
            if budget < 0 < kept:
                break
            kept += 1
        return replace(self, rows=self.rows[:kept], part=replace(self.part, shown=kept))

    def as_text(self) -> str:
        """The same for people, as ``bt`` has it, with a line for each folded run."""
        quiet = replace(self.stack, quality=Quality.FULL, origin=None)
        text = ""
        for run in self.rows:
            if len(run) > 1:
                text += f"     … {len(run)} frames of binding layers{_span(run)}\n"
                continue
            text += _PRINTER.render(StackReport(quiet, run))
            for name, value in self._locals_of(run[0][1]):
                text += f"          {line(name)} = {line(value, _LONGEST_LOCAL)}\n"
        note = note_of(self.stack)
        return text + (f"{line(note, 500)}\n" if note else "")

    def _row(self, run: tuple[Numbered, ...]) -> FrameRow:
        number, frame = run[0]
        if len(run) > 1:
            return FrameRow(number=number, glue=len(run))
        row = frame_row(number, frame)
        values = self._locals_of(frame)
        if values:
            row.locals = {line(name): line(value, _LONGEST_LOCAL) for name, value in values}
        return row

    def _locals_of(self, frame: Frame) -> Sequence[tuple[str, str]]:
        if not self.locals:
            return ()
        position = next(at for at, one in enumerate(self.stack.frames) if one is frame)
        return self.locals.get(position, ())


def shown(
    stack: Stack, start: int, limit: int, all_frames: bool, locals: Locals = MappingProxyType({})
) -> Shown:
    """The part of a stack from row ``start`` on. With ``all_frames`` nothing is folded or left out."""
    frames = numbered(stack, all_frames)
    runs = [(row,) for row in frames] if all_frames else _folded(frames)
    rows, part = part_of(runs, start, limit)
    return Shown(stack, tuple(rows), part, locals)


def frame_row(number: int | None, frame: Frame) -> FrameRow:
    """The structured form of one frame. A library is named where there is no source."""
    library = frame.library if isinstance(frame, NativeFrame) and frame.line is None else None
    return FrameRow(
        number=number,
        language=frame.language.value,
        function=None if frame.function is None else line(short_function(frame.function, LONGEST_NAME)),
        file=None if frame.file is None else line(frame.file, 500),
        line=frame.line,
        library=None if library is None else line(library.rpartition("/")[2]),
        glue=1 if frame.role is Role.GLUE else None,
        computes=line(lines_text(frame.computes), 500) if frame.computes else None,
    )


def note_of(stack: Stack) -> str | None:
    """Why a stack is not whole, or what started the work of its thread; None where there is nothing to say."""
    notes = [stack.origin] if stack.origin else []
    if stack.quality is not Quality.FULL and stack.note:
        notes.append(f"{stack.quality.value}: {stack.note}")
    return "; ".join(notes) or None


def _folded(frames: Sequence[Numbered]) -> list[tuple[Numbered, ...]]:
    """Runs of frames: those of binding layers together, every other one for itself."""
    runs: list[tuple[Numbered, ...]] = []
    for row in frames:
        if runs and row[1].role is Role.GLUE and runs[-1][-1][1].role is Role.GLUE:
            runs[-1] = (*runs[-1], row)
        else:
            runs.append((row,))
    return runs


def _span(run: Sequence[Numbered]) -> str:
    first, last = run[0][0], run[-1][0]
    return "" if first is None or last is None else f", #{first} to #{last}"
