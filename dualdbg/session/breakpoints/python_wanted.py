"""One Python breakpoint of the user: what debugpy is told of it, and what debugpy has said of it; pure."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...backends.python import BreakpointAnswer
from ...model import BreakpointKind, BreakpointSpec, BreakpointState, Location
from ...symbols.callables.python_functions import FunctionDefinition
from .python_suffixes import join, suffixes


@dataclass
class Wanted:
    """A Python breakpoint of the user, and what debugpy said of it."""

    id: int
    spec: BreakpointSpec
    file: str | None
    enabled: bool = True
    state: BreakpointState = BreakpointState.PENDING
    location: Location | None = None
    message: str | None = None
    debugpy_id: int | None = None
    # All numbers that debugpy has given it: it numbers anew each time, and a stop may have waited its turn since.
    debugpy_ids: set[int] = field(default_factory=set)
    place: FunctionDefinition | None = None  # where the function of a function breakpoint is
    # A file that has a function of this bare name, where it is not told which is meant.
    elsewhere: str | None = None
    note: str | None = None  # told where debugpy says nothing
    may_be_native: bool = False  # its module is there, but no Python code of that name
    turn: int = 0  # how often its hits were counted anew
    known: bool = True  # there is something that it will stop at, once that is called
    # Where debugpy is told to stop: the spec's line, or the one to which debugpy moved it.
    line: int | None = None

    @property
    def count(self) -> str:
        """The name of the counter of its hits."""
        return f"{self.id}_{self.turn}" if self.turn else str(self.id)


@dataclass(frozen=True)
class Message:
    """A request that tells debugpy all of a group. ``group`` are the breakpoints of each row of the answer."""

    command: str
    arguments: dict[str, Any]
    group: list[list[Wanted]]

    def settle(self, rows: tuple[BreakpointAnswer, ...] | None) -> None:
        """Note debugpy's answer, a row for each of the group; None where it has none."""
        for index, owners in enumerate(self.group):
            for wanted in owners:
                settle(wanted, rows[index] if rows and index < len(rows) else BreakpointAnswer(True))


def place_of(wanted: Wanted) -> tuple[str, int] | None:
    """The file and line at which debugpy stops for a breakpoint on a line."""
    if wanted.file is None or wanted.place is not None:
        return None
    if wanted.location is None or wanted.location.line is None:
        return None
    return wanted.file, wanted.location.line


def filter_of(spec: BreakpointSpec) -> str:
    """debugpy's filter for a breakpoint on exceptions; empty where it is given the exception's name instead."""
    if spec.kind is BreakpointKind.UNCAUGHT:
        return "uncaught"
    return "" if is_builtin(spec.subject) else "raised"


def is_builtin(name: str) -> bool:
    """Whether debugpy can be given the name of the exception.

    It would import any other name at once, which may not be there yet. For those it stops at all exceptions, and we
    look at them.
    """
    return isinstance(getattr(builtins, name, None), type)


def rows_of(
    group: list[Wanted], key: str, places: Sequence[object]
) -> tuple[list[dict[str, Any]], list[list[Wanted]]]:
    """What debugpy is told of breakpoints at these places, and the user's breakpoints of each row."""
    rows = [
        {key: place, **suffixes(one.count, one.spec, one.place)}
        for place, one in zip(places, group, strict=True)
    ]
    joined, sources = join(rows, key, [(one.id, one.count, one.spec) for one in group])
    return joined, [[group[index] for index in indices] for indices in sources]


def settle(wanted: Wanted, row: BreakpointAnswer) -> None:
    """Note what debugpy has answered about a breakpoint."""
    if row.id is not None:
        wanted.debugpy_id = row.id
        wanted.debugpy_ids.add(row.id)
    wanted.message = row.message or wanted.note
    if row.verified and wanted.known:
        wanted.state = BreakpointState.VERIFIED
        function = wanted.spec.subject if wanted.spec.kind is BreakpointKind.PYTHON_FUNCTION else None
        file = wanted.place.file if wanted.place is not None else wanted.file
        line = row.line or wanted.line
        if wanted.place is not None and wanted.place.entry is None:
            line = wanted.place.line
        if file is not None or function is not None:  # an exception has no place
            wanted.location = Location(function, None, None, file, line)
