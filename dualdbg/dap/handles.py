"""Numbers that stand for frames and values while a stop lasts; a number of an earlier stop is refused, never reused."""

from __future__ import annotations

from typing import Generic, TypeVar

from ..errors import StaleHandle, UsageError

Item = TypeVar("Item")

_MAXIMUM = 2**31 - 1  # DAP: "a positive integer up to 2^31-1"


class Handles(Generic[Item]):
    """What the numbers of the current stop stand for; ``what`` names one in messages."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._items: dict[int, Item] = {}
        self._last = 0

    def add(self, item: Item) -> int:
        self._last = self._last % _MAXIMUM + 1
        self._items[self._last] = item
        return self._last

    def get(self, number: int) -> Item:
        """Raises StaleHandle for a number of an earlier stop, UsageError for one that never was."""
        if number in self._items:
            return self._items[number]
        if 0 < number <= self._last:
            raise StaleHandle(f"{self._what} {number} belongs to an earlier stop", "ask for the stack again")
        raise UsageError(f"there is no {self._what} {number}")

    def clear(self) -> None:
        """The target runs: every number so far is void, and stays so."""
        self._items.clear()
