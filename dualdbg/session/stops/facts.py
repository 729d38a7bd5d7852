"""What was read about a stop before it is decided what the stop means, and the decisions that there are. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Union

from ...backends import events as engine
from ...backends.python import StackFrame
from ...model import Frame, PythonFrame, Reason, Thread
from ..stepping.step import Step

Met = tuple[tuple[int, ...], Union[str, None]]
"""The breakpoints of the user that let a stop count, and what is to be said of it."""


class Unread(Enum):
    """A fact that has not been read; None is a fact."""

    UNREAD = "unread"


UNREAD = Unread.UNREAD


class Sender(Enum):
    """Who sent a SIGINT."""

    TERMINAL = "terminal"
    OTHER = "other"


class Need(Enum):
    """The fact that is to be read next; each costs a request to an engine, so none is read that is not needed."""

    LIBRARIES = "libraries"  # bind breakpoints in what was loaded
    PROGRAM = "program"  # the process runs another program now
    SENDER = "sender"  # who sent a SIGINT
    STEP = "step"  # whether the step under way ends here
    BREAKPOINTS = "breakpoints"  # which of the user's breakpoints stop here
    SIGNAL = "signal"  # which of the user's breakpoints on signals stop here
    THREAD = "thread"  # which thread it was
    PAUSE = "pause"  # where a program is that the user wants to stop
    PLACE = "place"  # which frame debugpy holds
    MET = "met"  # which of the user's Python breakpoints stop here


@dataclass
class NativeFacts:
    """A stop of gdb's, and what has been read about it so far.

    ``done``: what an internal stop is for was done. ``ends_step``: None when the stop has nothing to do with a step.
    ``asked``: the user has breakpoints on the signal. ``can_pause``: the main thread runs Python code, so debugpy could
    pause it. ``thread``: whose stop it is for the user, by gdb's number and the system's.
    """

    stop: engine.NativeStopped
    done: bool = False
    sender: Sender | Unread = UNREAD
    ends_step: bool | Unread | None = UNREAD
    met: Met | Unread = UNREAD
    asked: bool = False
    can_pause: bool | Unread = UNREAD
    thread: tuple[int, int] | None = None


@dataclass
class PythonHold:
    """A thread that debugpy holds, not yet continued. ``tid`` and ``frames`` are known once they were read."""

    event: engine.PythonStopped
    tid: int | None = None
    frames: tuple[StackFrame, ...] = ()
    depth: int = 0  # the number of its Python frames
    top: PythonFrame | None = None
    read: bool = False
    removed: bool = False  # the breakpoint that it stopped at is gone
    met: Met | Unread | None = UNREAD  # None: an exception that nobody asked for
    verdict: Show | None = None
    picture: Picture | None = None  # decided, and what a step had set is taken back: it waits to be shown
    shown: bool = False


@dataclass
class NativeHold:
    """What gdb last stopped for.

    ``innermost_matters``: the function it stopped in is what the user is to see, even one of the interpreter's own.
    """

    event: engine.NativeStopped
    tid: int
    gdb_thread: int
    innermost_matters: bool = False


# -- decisions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Show:
    """The user sees the stop; ``signal``: the program is owed the SIGINT that it was stopped for."""

    reason: Reason
    breakpoints: tuple[int, ...] = ()
    description: str | None = None
    signal: bool = False


@dataclass(frozen=True)
class PassOver:
    """The user does not see the stop.

    ``signal``: the program gets the SIGINT that it was stopped for. ``pause``: it was the user's Ctrl-C, which came
    while work of ours was waiting: the user's stop follows.
    """

    signal: bool = False
    pause: bool = False


@dataclass(frozen=True)
class PauseInPython:
    """The program runs Python code: debugpy is to stop it, where Python can be stepped. ``signal`` as of Show."""

    signal: bool = False


@dataclass(frozen=True)
class GoOn:
    """debugpy's stop is not for the user: what it is asked for next, and the step that it belongs to."""

    request: str
    step: Step | None = None


NativeVerdict = Union[Show, PassOver, PauseInPython]
PythonVerdict = Union[Show, GoOn]


@dataclass(frozen=True)
class Picture:
    """What is shown of a stop: read after the decision, before it is told."""

    thread: Thread
    frame: Frame | None
    step_done: bool = False  # the step under way would have ended here too
