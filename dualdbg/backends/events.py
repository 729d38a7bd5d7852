"""What the two engines report to the session: plain facts, in the order in which they happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union


@dataclass(frozen=True)
class NativeStopped:
    """gdb stopped every thread.

    ``reason`` is MI's own word (breakpoint-hit, end-stepping-range, function-finished, signal-received,
    solib-event, ...; empty for an attach). ``thread`` is the OS thread id, ``gdb_thread`` gdb's number of it.
    ``gdb_breakpoint`` is gdb's number of the breakpoint that was hit, ``watched`` the expression of a watchpoint.
    ``libraries`` are the files that a
    solib event added, ``signal`` the name of the signal that arrived.
    """

    reason: str
    thread: int | None
    gdb_thread: int | None
    pc: int | None = None
    gdb_breakpoint: int | None = None
    temporary: bool = False
    signal: str | None = None
    signal_meaning: str | None = None
    libraries: tuple[str, ...] = ()
    return_value: str | None = None
    watched: str | None = None
    payload: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class NativeExited:
    """The process ended, as gdb saw it."""

    code: int | None = None
    signal: str | None = None


@dataclass(frozen=True)
class NativeConsole:
    """Text that gdb has for the user."""

    text: str


@dataclass(frozen=True)
class NativeLog:
    """A log point of gdb's printed; ``gdb_breakpoint`` is gdb's number of it. The target ran on."""

    gdb_breakpoint: int
    text: str


@dataclass(frozen=True)
class PythonStopped:
    """debugpy holds a thread. ``reason`` is DAP's word; ``debugpy_thread`` is debugpy's own thread number."""

    reason: str
    debugpy_thread: int
    description: str | None = None
    text: str | None = None
    breakpoints: tuple[int, ...] = ()


@dataclass(frozen=True)
class PythonContinued:
    """debugpy let go of its threads."""

    debugpy_thread: int | None


@dataclass(frozen=True)
class PythonOutput:
    """Text that debugpy has for the user: its console, or what a log point printed."""

    category: str
    text: str


@dataclass(frozen=True)
class PythonBreakpoint:
    """debugpy changed a breakpoint: it is verified now, or moved to another line."""

    debugpy_id: int
    verified: bool
    line: int | None
    message: str | None


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
    NativeConsole,
    NativeLog,
    PythonStopped,
    PythonContinued,
    PythonOutput,
    PythonBreakpoint,
    PythonEnded,
    EngineEnded,
]
