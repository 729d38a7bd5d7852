"""Where engines report to: the session, and before there is one, a list that it takes over."""

from __future__ import annotations

from typing import Protocol

from ..backends.events import EngineEvent


class Taker(Protocol):
    """What takes the reports: a session."""

    def report(self, event: EngineEvent) -> None:
        """Take a report of an engine; it does not wait."""

    def congested(self) -> bool:
        """Whether so many reports wait that the engines are to hold back."""


class EngineReports:
    """One for each session. Engines begin before the process has a number, and a session needs that number."""

    def __init__(self) -> None:
        self._early: list[EngineEvent] = []
        self._taker: Taker | None = None

    def report(self, event: EngineEvent) -> None:
        """An engine's report; called by the backends' reader tasks."""
        if self._taker is None:
            self._early.append(event)
        else:
            self._taker.report(event)

    def congested(self) -> bool:
        """Whether more reports wait than can be taken soon. An engine that can wait makes no more then."""
        return self._taker is not None and self._taker.congested()

    def go_to(self, taker: Taker) -> None:
        """Hand over what was reported already, and from now on every report at once."""
        self._taker = taker
        for event in self._early:
            taker.report(event)
        self._early.clear()
