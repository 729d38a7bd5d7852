"""What a trace has found, as rows: functions with their hits. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A function, or several places of it. ``hits`` is None where nothing was counted; ``why`` says why not, or why
    not all the time.
    """

    function: str
    library: str | None
    hits: int | None
    why: str | None = None


@dataclass(frozen=True)
class Summary:
    """The rows, most hits first; in how many seconds; and what was asked for and is not in the program."""

    rows: tuple[Row, ...]
    seconds: float
    missing: tuple[str, ...] = ()

    def rate(self, hits: int) -> float:
        """So many in all, in one second."""
        return hits / self.seconds if self.seconds > 0 else 0.0


def summed(rows: list[Row]) -> tuple[Row, ...]:
    """Rows of the same function as one, where they say the same of it; the most hits first."""
    found: dict[tuple[str, str | None, str | None], int | None] = {}
    for row in rows:
        key = row.function, row.library, row.why
        before = found.get(key)
        found[key] = row.hits if before is None else before + (row.hits or 0)
    made = [Row(function, library, hits, why) for (function, library, why), hits in found.items()]
    return tuple(sorted(made, key=lambda row: (row.hits is None, -(row.hits or 0), row.function)))
