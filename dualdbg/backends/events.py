"""What the two engines report to the session: plain facts, in the order in which they happened."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Union

from .python import BreakpointAnswer


class StopCause(Enum):
    """Why gdb stopped the target."""

    BREAKPOINT = auto()
    WATCHPOINT = auto()  # a write, a read or either, as it was set
    WATCHPOINT_GONE = auto()  # the function whose variable it watched was left
    STEPPED = auto()  # a step by lines or instructions is done
    RETURNED = auto()  # the function that was to be finished is left
    LOCATION_REACHED = auto()
    SIGNAL = auto()
    INTERRUPTED = auto()  # we asked for a stop
    LIBRARIES = auto()  # a library was loaded or unloaded
    EXEC = auto()  # the program replaced itself with another
    UNSAID = auto()  # gdb gives no reason: it has attached, or a step by gdb's own command line is done
    OTHER = auto()  # ``words`` has what gdb calls it


@dataclass(frozen=True)
class WatchedValue:
    """What a watchpoint met: gdb's number of it, the expression, its values before and after, if gdb prints them."""

    number: int
    expression: str
    old: str | None
    new: str | None


@dataclass(frozen=True)
class NativeStopped:
    """gdb stopped every thread.

    ``thread`` is the OS thread id (None for a thread that gdb has only just found), ``gdb_thread`` gdb's number for
    it. ``gdb_breakpoint`` is gdb's number for the breakpoint that was hit, ``signal`` the name of the signal that
    arrived. ``words`` is gdb's name for the cause, for people.
    """

    cause: StopCause
    thread: int | None
    gdb_thread: int | None
    pc: int | None = None
    gdb_breakpoint: int | None = None
    signal: str | None = None
    signal_meaning: str | None = None
    watched: tuple[WatchedValue, ...] = ()
    words: str = ""


@dataclass(frozen=True)
class NativeExited:
    """The process ended, as gdb saw it."""

    code: int | None = None
    signal: str | None = None


@dataclass(frozen=True)
class NativeRefused:
    """gdb said that the target runs or was late to say anything, and then that it could not let it run: why, in its
    words.
    """

    text: str


@dataclass(frozen=True)
class NativeWentOn:
    """gdb lets the target run, and was late to say so."""


@dataclass(frozen=True)
class NativeConsole:
    """Text that gdb has for the user."""

    text: str


@dataclass(frozen=True)
class NativeLog:
    """A log point of gdb has printed its text, and the target ran on. ``gdb_breakpoint`` is gdb's number for it."""

    gdb_breakpoint: int
    text: str


@dataclass(frozen=True)
class NativeOften:
    """The condition of a gdb breakpoint was false a hundred times within a second, at ``rate`` hits a second."""

    gdb_breakpoint: int
    rate: int


class PythonCause(Enum):
    """Why debugpy holds a thread. The value is for people."""

    BREAKPOINT = "breakpoint"
    FUNCTION = "function breakpoint"
    STEPPED = "step"
    MOVED = "goto"  # to the statement that was to be the next one
    PAUSED = "pause"
    EXCEPTION = "exception"
    ENTRY = "entry"
    OTHER = "other"  # none that is known here


@dataclass(frozen=True)
class PythonStopped:
    """debugpy holds a thread. ``debugpy_thread`` is debugpy's own thread number."""

    cause: PythonCause
    debugpy_thread: int
    description: str | None = None
    text: str | None = None
    breakpoints: tuple[int, ...] = ()


@dataclass(frozen=True)
class PythonContinued:
    """debugpy let its threads run."""

    debugpy_thread: int | None


@dataclass(frozen=True)
class PythonOutput:
    """Text that debugpy has for the user: its console, or what a log point printed."""

    category: str
    text: str


@dataclass(frozen=True)
class PythonLogFailed:
    """An expression of the log text of the user's breakpoint ``id`` had no value; ``why`` is its exception."""

    id: int
    expression: str
    why: str


@dataclass(frozen=True)
class PythonFileLoaded:
    """Code of the file ``path`` runs, which a breakpoint waits for by this ``name``; or, if not ``is_it``, of another
    file that is called the same.
    """

    name: str
    path: str
    is_it: bool


@dataclass(frozen=True)
class PythonBreakpoint:
    """debugpy changed a breakpoint: it is verified now, or moved to another line."""

    debugpy_id: int
    now: BreakpointAnswer


@dataclass(frozen=True)
class PythonEnded:
    """debugpy says that its process ends (``exited``), or that the session is over (``terminated``)."""

    code: int | None


@dataclass(frozen=True)
class EngineEnded:
    """The connection to an engine is gone. ``engine`` is gdb or debugpy; ``detail`` says how it ended."""

    engine: str
    detail: str


EngineEvent = Union[
    NativeStopped,
    NativeExited,
    NativeRefused,
    NativeWentOn,
    NativeConsole,
    NativeLog,
    NativeOften,
    PythonStopped,
    PythonContinued,
    PythonOutput,
    PythonLogFailed,
    PythonFileLoaded,
    PythonBreakpoint,
    PythonEnded,
    EngineEnded,
]
