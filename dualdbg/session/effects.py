"""What a transition of the state asks for: events to tell, requests to engines, reads. Plain data for the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

from ..backends.python import PythonRequest
from ..errors import DualdbgError
from ..model import Event
from .stepping.step import Step
from .stops.facts import NativeFacts, NativeHold, Need, PythonHold, Show


class Halt:
    """A wish of ours that the target stands still for a moment, to be answered once."""


@dataclass(frozen=True)
class Tell:
    """Every front end hears this event."""

    event: Event


@dataclass(frozen=True)
class Meet:
    """gdb stopped the target: what was read before it ran does not hold any more."""

    facts: NativeFacts


@dataclass(frozen=True)
class Forget:
    """Frames and values of the stop before are stale. ``as_read_now``: what was read since gdb stopped holds."""

    as_read_now: bool = False


@dataclass(frozen=True)
class BeforeRun:
    """The target is about to run for the user: it gets its terminal."""


@dataclass(frozen=True)
class AfterStop:
    """The target does not run for the user any more."""


@dataclass(frozen=True)
class ReadNative:
    """Read a fact of a stop of gdb's."""

    facts: NativeFacts
    need: Need


@dataclass(frozen=True)
class PrepareNative:
    """Take back what a step has set, and read what is shown of a native stop."""

    facts: NativeFacts
    hold: NativeHold
    verdict: Show
    epoch: int
    step: Step | None


@dataclass(frozen=True)
class ReadPython:
    """Read a fact of a stop of debugpy's."""

    hold: PythonHold
    need: Need


@dataclass(frozen=True)
class PreparePython:
    """Take back what a step has set; ``cancel_native``: gdb still works on it, and is to forget it."""

    hold: PythonHold
    cancel_native: bool


@dataclass(frozen=True)
class Resume:
    """gdb lets the target run on; ``signal``: with the SIGINT that it was stopped for. ``dead``: it was killed."""

    signal: bool = False
    dead: bool = False


@dataclass(frozen=True)
class Interrupt:
    """gdb is to stop the target."""


@dataclass(frozen=True)
class Post:
    """A request to debugpy whose answer nobody waits for; ``pause``: a refusal concerns the user's pause."""

    request: PythonRequest[Any]
    departure: int | None = None  # the epoch that a refusal would take back
    pause: bool = False


@dataclass(frozen=True)
class AnswerHalt:
    """The halt came (True), another stop came first (False), or gdb is gone."""

    halt: Halt
    outcome: bool | DualdbgError


@dataclass(frozen=True)
class LookLater:
    """In ``seconds`` see how far debugpy's pause is, if the target has not stopped since."""

    epoch: int
    seconds: float


@dataclass(frozen=True)
class MissDebugpy:
    """debugpy's connection is gone: unless the process ends in a moment, the user is told."""

    detail: str


@dataclass(frozen=True)
class EndTarget:
    """The launched target ends with gdb."""


@dataclass(frozen=True)
class Repair:
    """gdb died over an attached target: take its breakpoints out."""

    detail: str


@dataclass(frozen=True)
class ReportUnbound:
    """At the end: breakpoints that never bound are told."""


@dataclass(frozen=True)
class Over:
    """Nothing follows."""


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
    Post,
    AnswerHalt,
    LookLater,
    MissDebugpy,
    EndTarget,
    Repair,
    ReportUnbound,
    Over,
]
Effects = list[Effect]
