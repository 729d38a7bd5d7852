"""What a session reports: states, stops, threads and the events of a front end's stream."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from enum import Enum
from typing import Union

from .breakpoints import Breakpoint
from .frames import Frame, Language
from .values import Value


class State(str, Enum):
    """Where the target is, as the session knows it."""

    STARTING = "starting"
    RUNNING = "running"
    PYTHON_STOPPED = "python-stopped"  # debugpy holds a thread; the process itself runs
    NATIVE_STOPPED = "native-stopped"  # gdb holds every thread; debugpy is mute
    EXITED = "exited"
    DETACHED = "detached"
    LOST = "lost"


class Reason(str, Enum):
    """Why the target stopped (the values of the scripted interface)."""

    ENTRY = "entry"
    BREAKPOINT = "breakpoint"
    STEP = "step"
    GOTO = "goto"
    PAUSE = "pause"
    EXCEPTION = "exception"
    SIGNAL = "signal"

    @property
    def ends_step(self) -> bool:
        """Whether the target did what a command of the user has asked for, and nothing else has come first."""
        return self in (Reason.STEP, Reason.GOTO)


@dataclass(frozen=True)
class Thread:
    """One thread of the target. ``tid`` is the OS thread id, the name the user sees everywhere."""

    tid: int
    name: str
    python_name: str | None = None
    holds_gil: bool | None = None
    waits_for_gil: bool | None = None
    state: str | None = None  # one line: what it is doing

    @property
    def names(self) -> tuple[str, ...]:
        """The kernel's name and Python's; one alone where the kernel's is the beginning of Python's.

        From 3.14 on Python gives a thread's name to the kernel, which keeps 15 bytes (``_thread.set_name``).
        """
        python = self.python_name or self.name
        return (python,) if python.startswith(self.name) else (self.name, python)


@dataclass(frozen=True)
class Stop:
    """One stop of the target.

    ``epoch`` counts the stops of a session; handles made at this stop carry it.
    ``seconds`` counts from the start of dualdbg. ``description`` is for people:
    a signal's name and meaning, an exception's type and text.

    ``frame`` is the one that the user is to look at first, ``number`` its number among the visible ones of the stack.
    It is not the innermost one, 0, where that is only the C library's or the C++ library's way to say that something is
    wrong.

    ``result``: what the function has returned that a step has just left, as far as it returns something.
    """

    epoch: int
    origin: Language
    reason: Reason
    thread: Thread
    frame: Frame | None
    breakpoints: tuple[int, ...] = ()
    description: str | None = None
    seconds: float = 0.0
    number: int = 0
    result: Value | None = None


@dataclass(frozen=True)
class Exit:
    """The end of the target: ``code`` when it returned one, else the ``signal`` number that ended it.

    Both are None where nobody can tell: its parent has taken the status, and gdb did not see the end.
    """

    code: int | None = None
    signal: int | None = None

    def in_words(self) -> str:
        """What the target did, for people: ``ended with status 1``."""
        if self.signal is not None:
            return f"was ended by {signal_in_words(self.signal)}"
        if self.code is None:
            return "ended; with what status is not known: its parent has taken it, and gdb missed the end"
        return f"ended with status {self.code}"


def signal_in_words(number: int) -> str:
    """``SIGSEGV (Segmentation fault)``."""
    try:
        return f"{signal.Signals(number).name} ({signal.strsignal(number)})"
    except ValueError:  # a real-time signal between the first and the last
        return f"signal {number}"


@dataclass(frozen=True)
class SessionStarted:
    """The first event of a session."""

    pid: int
    python: str | None
    gdb: str | None


@dataclass(frozen=True)
class Stopped:
    """The target stopped."""

    stop: Stop


@dataclass(frozen=True)
class Resumed:
    """The target runs again; every handle of the stop before is stale from now on."""

    epoch: int


@dataclass(frozen=True)
class BreakpointChanged:
    """A breakpoint has other locations, another state or another hit count than before."""

    breakpoint: Breakpoint


@dataclass(frozen=True)
class Output:
    """Text of the target (``stdout``, ``stderr``), of a log point (``log``), or of an engine (``console``)."""

    stream: str
    text: str


@dataclass(frozen=True)
class Exited:
    """The target ended."""

    exit: Exit


@dataclass(frozen=True)
class Detached:
    """The session let the process ``pid`` go, and it runs on."""

    pid: int


@dataclass(frozen=True)
class Notice:
    """Something the user should know; ``hint`` says what to type next. ``level``: info, warning or error."""

    level: str
    message: str
    hint: str = ""


@dataclass(frozen=True)
class Progress:
    """Something takes longer than half a second; ``done`` is true once it ended."""

    what: str
    done: bool = False
    fraction: float | None = field(default=None)


Event = Union[SessionStarted, Stopped, Resumed, BreakpointChanged, Output, Exited, Detached, Notice, Progress]
