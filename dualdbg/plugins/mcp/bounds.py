"""What keeps an answer small and harmless: so many rows, texts of such a length, no control characters. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from ...system.terminal_text import visible, visible_text

T = TypeVar("T")

LONGEST_NAME = 200  # characters of a function's name, a path, a type
MOST_OF_VALUES = (
    20_000  # characters that all values of one answer have together, with the names of their fields
)
MOST_OF_STACKS = 20_000  # characters that all frames of one answer have together
MOST_TEXT = 40_000  # characters of the text of one answer


def line(text: str, most: int = LONGEST_NAME) -> str:
    """One line of at most ``most`` characters, in which nothing controls a terminal."""
    text = visible(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def harmless(data: Any) -> Any:
    """Plain JSON types with every text in them made :func:`~dualdbg.system.terminal_text.visible_text`."""
    if isinstance(data, str):
        return visible_text(data)
    if isinstance(data, dict):
        return {visible_text(key): harmless(value) for key, value in data.items()}
    return [harmless(value) for value in data] if isinstance(data, list) else data


def size_of(row: BaseModel) -> int:
    """The characters of a row in an answer, names of its fields included."""
    return len(row.model_dump_json(exclude_none=True))


def bounded_text(text: str) -> str:
    """The text for people, cut where it is longer than any answer may be."""
    if len(text) <= MOST_TEXT:
        return text
    return text[:MOST_TEXT] + "\n… cut here: ask for less with limit, depth or length\n"


@dataclass(frozen=True)
class Part:
    """Some rows of many: those from number ``start`` on, ``shown`` of ``total``."""

    start: int
    shown: int
    total: int

    @property
    def left(self) -> int:
        """How many rows come after those that are shown."""
        return max(self.total - self.start - self.shown, 0)

    def left_out(self, what: str, how: str) -> str | None:
        """Which rows are not shown, and the call that shows them; ``how`` has ``{start}`` for the next number."""
        if not self.left:
            return None
        return f"{self.left} more {what}: {how.replace('{start}', str(self.start + self.shown))}"


def part_of(rows: Sequence[T], start: int, limit: int) -> tuple[list[T], Part]:
    """At most ``limit`` rows from number ``start`` on, and what part of all rows that is."""
    shown = list(rows[start : start + limit])
    return shown, Part(start, len(shown), len(rows))


def joined(*texts: str | None) -> str | None:
    """What there is of the texts, as one; None for nothing."""
    return "; ".join(text for text in texts if text) or None
