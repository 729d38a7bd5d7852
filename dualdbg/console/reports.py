"""What commands report, as plain data. ``printer.py`` makes text of it, ``cli/json_lines.py`` makes JSON objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Union

from ..model import Breakpoint, Event, Frame, Stack, State, Task, Tasks, Thread, Value

if TYPE_CHECKING:
    from ..trace.summary import Summary


@dataclass(frozen=True)
class StackReport:
    """A stack or a part of it. ``frames`` are numbered as ``frame N`` takes them; plumbing has no number.

    ``selected`` is the number of the selected frame, ``left_out`` how many frames a limit cut off. ``full``: names are
    not shortened.
    """

    stack: Stack
    frames: tuple[tuple[int | None, Frame], ...]
    selected: int | None = None
    left_out: int = 0
    thread: Thread | None = None
    full: bool = False


@dataclass(frozen=True)
class FrameReport:
    """The frame that was selected."""

    number: int
    frame: Frame


@dataclass(frozen=True)
class ValueReport:
    """The value of an expression."""

    expression: str
    value: Value


@dataclass(frozen=True)
class VariablesReport:
    """Several values: ``what`` is locals, args or registers. ``empty`` is said when there are none."""

    what: str
    values: tuple[Value, ...]
    empty: str


@dataclass(frozen=True)
class ThreadsReport:
    """Every thread of the target; ``current`` is the selected one's OS thread id."""

    threads: tuple[Thread, ...]
    current: int | None


@dataclass(frozen=True)
class TasksReport:
    """Tasks of asyncio. ``shown`` are those among ``tasks`` that were asked for; ``folded``: equal ones told once."""

    tasks: Tasks
    shown: tuple[Task, ...]
    folded: bool = True


@dataclass(frozen=True)
class BreakpointsReport:
    """The breakpoints of the session. ``actions``: by their numbers, the lines that are run where they stop."""

    breakpoints: tuple[Breakpoint, ...]
    actions: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class TraceReport:
    """What was counted and taken down of calls."""

    summary: Summary


@dataclass(frozen=True)
class SourceReport:
    """Lines of a source file from line ``first`` on; ``current`` is the line of the selected frame."""

    file: str
    first: int
    lines: tuple[str, ...]
    current: int | None


@dataclass(frozen=True)
class Mapped:
    """A file that is mapped in the target, from address ``start`` up to ``end``."""

    start: int
    end: int
    path: str


@dataclass(frozen=True)
class LibrariesReport:
    """The files that are mapped in the target."""

    libraries: tuple[Mapped, ...]


@dataclass(frozen=True)
class ProcessChanged:
    """A child process joined the run, or another process became the current one: ``state`` is joined or current."""

    number: int
    pid: int
    title: str
    state: str


@dataclass(frozen=True)
class ProcessRow:
    """One process of a run. ``state`` is the state of its session."""

    number: int
    pid: int
    title: str
    state: State


@dataclass(frozen=True)
class ProcessesReport:
    """The processes of a run and the number of the current one."""

    processes: tuple[ProcessRow, ...]
    current: int


@dataclass(frozen=True)
class CommandReport:
    """A line that nobody has typed is run, behind this prompt: what follows is its answer."""

    line: str
    prompt: str = "(dualdbg) "


@dataclass(frozen=True)
class TextReport:
    """Text for the user that is no event: help, what gdb printed."""

    text: str


@dataclass(frozen=True)
class ErrorReport:
    """A command failed; the session goes on."""

    message: str
    hint: str = ""


Report = Union[
    Event,
    StackReport,
    FrameReport,
    ValueReport,
    VariablesReport,
    ThreadsReport,
    TasksReport,
    BreakpointsReport,
    LibrariesReport,
    SourceReport,
    TraceReport,
    TextReport,
    CommandReport,
    ErrorReport,
    ProcessChanged,
    ProcessesReport,
    "OfProcess",
]


@dataclass(frozen=True)
class OfProcess:
    """A report of one of several processes; ``current`` when it is the one that commands work on."""

    number: int
    current: bool
    report: Report


def numbered(stack: Stack, all_frames: bool = False) -> tuple[tuple[int | None, Frame], ...]:
    """The frames with their numbers: the visible ones count from 0, and keep their numbers in ``bt --all``."""
    visible = {id(frame): number for number, frame in enumerate(stack.visible())}
    frames = stack.frames if all_frames else stack.visible()
    return tuple((visible.get(id(frame)), frame) for frame in frames)
