"""How long a program ran, without the time in which it stood."""

from __future__ import annotations

import time


class RunningTime:
    """A stopwatch that can say of any moment how long the program has run since. ``runs``: it runs now."""

    def __init__(self, runs: bool) -> None:
        self._past: list[tuple[float, float]] = []  # when it began to run, and stood again
        self._began = time.monotonic() if runs else None
        self._is_over = False

    def run(self) -> None:
        """It runs; perhaps it did already."""
        if not self._is_over and self._began is None:
            self._began = time.monotonic()

    def stand(self) -> None:
        """It stands; perhaps it did already."""
        if self._began is not None:
            self._past.append((self._began, time.monotonic()))
            self._began = None

    def end(self) -> None:
        """What follows does not count, whether it runs or not."""
        self.stand()
        self._is_over = True

    def since(self, moment: float) -> float:
        """For how many seconds it ran since a moment of the monotonic clock."""
        now = [(self._began, time.monotonic())] if self._began is not None else []
        return sum(max(end - max(begin, moment), 0.0) for begin, end in (*self._past, *now))
