"""What a transition of the state asks for: events to tell, requests to engines, facts to read. Plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Union

from ..backends.native import Move
from ..backends.python import PythonRequest
from ..errors import CommandError, DualdbgError
from ..model import Event
from .stepping.step import Step
from .stops.facts import NativeFacts, NativeHold, Need, PythonHold, Show

Answered = Callable[[Union[CommandError, None]], None]


class Halt:
    """A wish of our own: the target is to stand still for a moment. It is answered once."""


@dataclass(frozen=True)
class Tell:
    """Every front end hears this event."""

    event: Event


@dataclass(frozen=True)
class Meet:
    """gdb stopped the target. What was read before the target ran is stale."""

    facts: NativeFacts


@dataclass(frozen=True)
class Forget:
    """Frames and values of the stop before are stale.

    ``as_read_now``: what was read since gdb stopped the target is still good.
    """

    as_read_now: bool = False


@dataclass(frozen=True)
class BeforeRun:
    """The target is about to run for the user, and gets its terminal."""


@dataclass(frozen=True)
class AfterStop:
    """The target does not run for the user any more, and gives the terminal back."""


@dataclass(frozen=True)
class ReadNative:
    """Read a fact about a native stop."""

    facts: NativeFacts
    need: Need


@dataclass(frozen=True)
class PrepareNative:
    """Take back what the step has set, and read what is shown of a native stop."""

    facts: NativeFacts
    hold: NativeHold
    verdict: Show
    epoch: int
    step: Step | None


@dataclass(frozen=True)
class ReadPython:
    """Read a fact about a Python stop."""

    hold: PythonHold
    need: Need


@dataclass(frozen=True)
class PreparePython:
    """Take back what the step has set, for a Python stop that is to be shown.

    ``cancel_native``: gdb still works on the step, and is to forget it.
    """

    hold: PythonHold
    cancel_native: bool


@dataclass(frozen=True)
class Resume:
    """gdb lets the target run on.

    ``signal``: the target gets the SIGINT that it was stopped for. ``dead``: the process was killed, and gdb is to
    notice. ``again``: gdb makes this step of a thread, by gdb's number, instead.
    """

    signal: bool = False
    dead: bool = False
    again: tuple[Move, int] | None = None


@dataclass(frozen=True)
class Interrupt:
    """gdb is to stop the target."""


@dataclass(frozen=True)
class Release:
    """Frozen threads stand as they were: what gdb holds is shown, and work of ours may have been about to end."""


@dataclass(frozen=True)
class Post:
    """A request to debugpy whose answer no transition waits for.

    ``departure`` is the epoch that a refusal would take back. ``pause``: a refusal concerns the pause that the user
    wants. ``answered`` is called with what debugpy says against it, or None, where a command wants to know.
    """

    request: PythonRequest[Any]
    departure: int | None = None
    pause: bool = False
    answered: Answered | None = field(default=None, repr=False)


@dataclass(frozen=True)
class AnswerHalt:
    """The halt came (True), another stop came first (False), or gdb is gone (the error)."""

    halt: Halt
    outcome: bool | DualdbgError


@dataclass(frozen=True)
class LookLater:
    """In ``seconds``, look how far debugpy's pause is, if the target has not stopped since ``epoch``."""

    epoch: int
    seconds: float


@dataclass(frozen=True)
class MissDebugpy:
    """debugpy's connection is gone. Unless the process ends in a moment, the user is told.

    ``programs`` is how many programs the process had run before its present one.
    """

    detail: str
    programs: int


@dataclass(frozen=True)
class RenewDebugpy:
    """The process runs another program: the debugpy of the earlier one is gone with it."""


@dataclass(frozen=True)
class EndTarget:
    """The process is ended: the user wants that, or it was launched and gdb is gone."""


@dataclass(frozen=True)
class Repair:
    """gdb died over a process that was attached to: take its breakpoints out."""

    detail: str


@dataclass(frozen=True)
class ReportUnbound:
    """The target has ended: tell which breakpoints never bound."""


@dataclass(frozen=True)
class Over:
    """Nothing follows in this session."""


Effect = Union[
    Tell,
    Meet,
    Forget,
    BeforeRun,
    AfterStop,
    ReadNative,
    PrepareNative,
    ReadPython,
    PreparePython,
    Resume,
    Interrupt,
    Release,
    Post,
    AnswerHalt,
    LookLater,
    MissDebugpy,
    RenewDebugpy,
    EndTarget,
    Repair,
    ReportUnbound,
    Over,
]
Effects = list[Effect]
