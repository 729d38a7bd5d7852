"""What a trace has counted so far, as a few lines for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..system.terminal_text import visible
from ..trace.python_lines import PythonLine
from .trace_report import duration

_NAME = 30  # columns of a function's name, where there are 80


@dataclass(frozen=True)
class LiveRow:
    """A function, by its short name and its whole one: its hits so far, the line of Python with the most of them, and
    the time inside, where it is taken."""

    function: str
    name: str
    hits: int
    line: PythonLine | None = None
    seconds: float | None = None


def lines(
    rows: Sequence[LiveRow], before: dict[str, int], seconds: float, height: int, width: int
) -> list[str]:
    """The functions with the most hits. ``before``: the hits ``seconds`` ago, by whole names; empty at first."""
    timed = any(row.seconds is not None for row in rows)
    has_lines = any(row.line is not None for row in rows)
    head = f"{'hits':>12} {'a second':>10}{'time' if timed else '':>{9 * timed}}  "
    room = max(width - len(head), 0)
    name = max(min(_NAME, room * 2 // 5), room - 60) if has_lines else room
    named = f"{'function':<{name}}{'  line' if has_lines else ''}"
    found = [(head + named)[:width].rstrip()]
    called = sorted((row for row in rows if row.hits), key=lambda row: (-row.hits, row.function))
    for row in called[: height - 1]:
        # One that was not among the first has no rate yet.
        was = before.get(row.name, row.hits if before else 0)
        rate = (row.hits - was) / seconds if seconds > 0 else 0
        time = f"{duration(row.seconds or 0):>9}" if timed else ""
        text = f"{row.hits:>12,} {rate:>10,.0f}{time}  {_cut(visible(row.function), name):<{name}}"
        if row.line is not None:
            place = f"{Path(row.line.file).name}:{row.line.line or '?'} {row.line.function}"
            text += "  " + _cut(visible(place), width - len(text) - 2)
        found.append(text[:width].rstrip())
    return found + [""] * (height - len(found))


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    return text[: width - 1] + "…" if width > 0 else ""
