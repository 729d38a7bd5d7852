"""What is read about a stop before it is decided what the stop means, and the possible decisions. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Union

from ...backends import events as engine
from ...backends.native import Move
from ...backends.python import StackFrame
from ...model import Frame, PythonFrame, Reason, Thread, Value
from ..stepping.step import Step

Met = tuple[tuple[int, ...], Union[str, None]]
"""The breakpoints of the user that let a stop count, and what is to be said of it."""


class Unread(Enum):
    """Stands for a fact that has not been read, because None may be a fact."""

    UNREAD = "unread"


UNREAD = Unread.UNREAD


class Sender(Enum):
    """Who sent a SIGINT."""

    TERMINAL = "terminal"
    OTHER = "other"


class Need(Enum):
    """The fact that is to be read next. Each costs a request to an engine, so only what is needed is read."""

    LIBRARIES = "libraries"  # bind breakpoints in what was loaded
    PROGRAM = "program"  # the process runs another program now
    SENDER = "sender"  # who sent a SIGINT
    STEP = "step"  # whether the step under way ends here
    BREAKPOINTS = "breakpoints"  # which of the user's breakpoints stop here
    SIGNAL = "signal"  # which of the user's breakpoints on signals stop here
    THREAD = "thread"  # which thread it was
    PAUSE = "pause"  # where a program is that the user wants to stop
    POSITION = "position"  # which frame debugpy holds
    LEAVING = "leaving"  # whether debugpy stops before native code that is called below has its turn
    MET = "met"  # which of the user's Python breakpoints stop here


@dataclass(frozen=True)
class NativeFacts:
    """A native stop, and what has been read about it so far. Each new fact makes a new one.

    ``done``: what an internal stop is for was done. ``ends_step``: whether the step under way ends here; None when
    the stop has nothing to do with a step. ``again``: the step that gdb makes from here, for that one. ``met``: the
    user's breakpoints. ``is_report``: a sanitizer reports an error, and ``met`` has its words. ``asked``: the user has
    breakpoints on the signal. ``fault``: the address that a SIGSEGV or SIGBUS is about, where there is one.
    ``can_pause``: the main thread runs Python code, so debugpy could pause it. ``thread``: whose stop it is for the
    user, by gdb's number and the OS thread id.
    """

    stop: engine.NativeStopped
    done: bool = False
    sender: Sender | Unread = UNREAD
    ends_step: bool | Unread | None = UNREAD
    again: Move | None = None
    met: Met | Unread = UNREAD
    is_report: bool = False
    asked: bool = False
    fault: int | None = None
    can_pause: bool | Unread = UNREAD
    thread: tuple[int, int] | None = None


@dataclass(frozen=True)
class PythonPosition:
    """Where debugpy holds a thread.

    ``depth`` is the number of its Python frames. ``removed``: the breakpoint that it stopped at is gone.
    """

    tid: int
    frames: tuple[StackFrame, ...]
    depth: int
    top: PythonFrame | None
    removed: bool = False


@dataclass
class PythonHold:
    """A thread that debugpy holds and has not let go of. Its place is known once it was read.

    Only the state's transitions write to one that the state keeps.
    """

    event: engine.PythonStopped
    tid: int | None = None
    frames: tuple[StackFrame, ...] = ()
    depth: int = 0  # the number of its Python frames
    top: PythonFrame | None = None
    read: bool = False
    removed: bool = False  # the breakpoint that it stopped at is gone
    leaving: bool | Unread = UNREAD  # native code has its turn first, and the step ends there or behind it
    met: Met | Unread | None = UNREAD  # None: an exception that nobody asked for
    verdict: Show | None = None
    picture: Picture | None = None  # read once the stop is decided; it waits to be shown
    shown: bool = False


@dataclass
class NativeHold:
    """What gdb last stopped for.

    ``innermost_matters``: the user is to see the function in which gdb stopped, even if it is one of the interpreter.
    """

    event: engine.NativeStopped
    tid: int
    gdb_thread: int
    innermost_matters: bool = False


# -- decisions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Show:
    """The user sees the stop. ``signal``: the program is owed the SIGINT that it was stopped for."""

    reason: Reason
    breakpoints: tuple[int, ...] = ()
    description: str | None = None
    signal: bool = False


@dataclass(frozen=True)
class PassOver:
    """The user does not see the stop.

    ``signal``: the program is owed the SIGINT that it was stopped for. ``pause``: the stop was Ctrl-C of the user
    while work of our own waited, so a stop for the user follows.
    """

    signal: bool = False
    pause: bool = False


@dataclass(frozen=True)
class PauseInPython:
    """The program runs Python code: debugpy makes the stop, where Python can be stepped.

    ``signal``: the program is owed the SIGINT that it was stopped for.
    """

    signal: bool = False


@dataclass(frozen=True)
class GoOn:
    """debugpy's stop is not for the user.

    ``request`` is what debugpy is asked next, ``step`` the step that this belongs to.
    """

    request: str
    step: Step | None = None


NativeVerdict = Union[Show, PassOver, PauseInPython]
PythonVerdict = Union[Show, GoOn]


@dataclass(frozen=True)
class Picture:
    """What is shown of a stop. It is read after the decision, before the stop is told.

    ``step_done``: the step under way would have ended here too. ``number``: that of the frame. ``result``: what the
    function has returned that the step has left.
    """

    thread: Thread
    frame: Frame | None
    step_done: bool = False
    number: int = 0
    result: Value | None = None
