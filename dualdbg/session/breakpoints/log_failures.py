"""What failed in the texts of Python log points: said once each, and at the end how often. Pure."""

from __future__ import annotations

from collections import Counter

from ...model import Notice


class LogFailures:
    """The failures of one process."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, str]] = Counter()  # by breakpoint and expression

    def note(self, id: int, expression: str, why: str) -> Notice | None:
        """Count a failure; what is to be said of it, where it is the first of its kind."""
        self._counts[id, expression] += 1
        if self._counts[id, expression] > 1:
            return None
        text = f"breakpoint {id}: {{{expression}}} in its log text has no value: {why}"
        return Notice("warning", text, "said once; how often is told when the program ends")

    def report(self) -> list[Notice]:
        """What is to be said at the end: how often each failed that failed more than once."""
        return [
            Notice("warning", f"breakpoint {id}: {{{expression}}} in its log text had no value {count} times")
            for (id, expression), count in self._counts.items()
            if count > 1
        ]
