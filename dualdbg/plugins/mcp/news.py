"""What has happened in a session since its last answer: each thing is told once. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...model import Breakpoint, BreakpointChanged, Event, Exit, Exited, Notice, Stop, Stopped

_MOST_NOTICES = 20


@dataclass(frozen=True)
class Happened:
    """What is to be told now. ``dropped`` notices came before those that are kept."""

    stop: Stop | None
    exit: Exit | None
    notices: tuple[Notice, ...]
    breakpoints: tuple[Breakpoint, ...]
    dropped: int


@dataclass
class News:
    """Collects events. A stop is news until it is told, or until the program has gone on."""

    seen_stop: int | None = None  # the epoch of the last stop that came
    _stop: Stop | None = None
    _exit: Exit | None = None
    _notices: list[Notice] = field(default_factory=list)
    _breakpoints: dict[int, Breakpoint] = field(default_factory=dict)
    _dropped: int = 0

    @property
    def is_due(self) -> bool:
        """Whether a stop or the end is not told yet."""
        return self._stop is not None or self._exit is not None

    def take(self, event: Event) -> None:
        """Keep what an agent wants to know of an event."""
        if isinstance(event, Stopped):
            self._stop = event.stop
            self.seen_stop = event.stop.epoch
        elif isinstance(event, Exited):
            self._exit = event.exit
        elif isinstance(event, BreakpointChanged):
            self._breakpoints[event.breakpoint.id] = event.breakpoint
        elif isinstance(event, Notice):
            self._notices.append(event)
            if len(self._notices) > _MOST_NOTICES:
                self._dropped += 1
                del self._notices[0]

    def tell(self) -> Happened:
        """All of it; afterwards it is no news any more."""
        told = Happened(
            self._stop,
            self._exit,
            tuple(self._notices),
            tuple(self._breakpoints.values()),
            self._dropped,
        )
        self._stop, self._exit, self._dropped = None, None, 0
        self._notices.clear()
        self._breakpoints.clear()
        return told

    def breakpoints_are_told(self) -> tuple[Notice, ...]:
        """The notices, told now with the breakpoints themselves, which are no news any more."""
        told = tuple(self._notices)
        self._notices.clear()
        self._breakpoints.clear()
        return told
