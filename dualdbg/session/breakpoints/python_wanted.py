"""One Python breakpoint of the user: what debugpy is told of it, and what debugpy has said of it; pure."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...backends.python import BreakpointAnswer
from ...model import BreakpointKind, BreakpointSpec, BreakpointState, Location
from ...symbols.callables.python_functions import FunctionDefinition, NoFunction, find_function
from ...system.source_files import source_line
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
    # The names of files whose code it waits for, with the function's name in each.
    awaits: dict[str, str] = field(default_factory=dict)
    instead: str | None = None  # another file that is called the same, and that the program has imported
    # Where debugpy is told to stop: the spec's line, or the one to which debugpy moved it.
    line: int | None = None

    def place_at(self, place: FunctionDefinition) -> None:
        """The function that is meant was found."""
        self.place, self.known = place, True
        if place.entry is not None:
            self.file, self.line = place.file, place.entry

    def file_loaded(self, name: str, path: str) -> bool:
        """Code of the file runs that it waits for by this name. Returns whether debugpy has to be told."""
        if name.startswith("/"):
            self.awaits.clear()
            if self.location is not None:  # debugpy has answered
                self.state = BreakpointState.VERIFIED
            return False
        if self.spec.kind is BreakpointKind.PYTHON_LINE:
            self.file = path
        else:
            root = path[: -len(name)].rstrip("/") or "/"
            found = find_function(self.awaits[name], Path(path), [root])
            if isinstance(found, NoFunction):
                self.message = f"no source of {self.awaits[name]} was found in {path}"
                return False
            self.place_at(found)
        self.awaits.clear()
        self.message = None
        return True

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
    wanted.message = row.message or moved(wanted, row.line) or wanted.note
    if row.verified and wanted.known:
        wanted.state = BreakpointState.PENDING if wanted.awaits else BreakpointState.VERIFIED
        function = wanted.spec.subject if wanted.spec.kind is BreakpointKind.PYTHON_FUNCTION else None
        file = wanted.place.file if wanted.place is not None else wanted.file
        line = row.line or wanted.line
        if wanted.place is not None and wanted.place.entry is None:
            line = wanted.place.line
        if file is not None or function is not None:  # an exception has no place
            wanted.location = Location(function, None, None, file, line)


def names_of_module(name: str) -> dict[str, str]:
    """The files in which a function of a dotted name may be, with the rest of its name."""
    parts = name.split(".")
    names = {}
    for count in range(len(parts) - 1, 0, -1):
        module, rest = "/".join(parts[:count]), ".".join(parts[count:])
        names.update({f"{module}.py": rest, f"{module}/__init__.py": rest})
    return names


def moved(wanted: Wanted, line: int | None) -> str | None:
    """Says that debugpy has moved a breakpoint to another ``line``; None where it has not."""
    if line is None or wanted.spec.line in (None, line) or wanted.file is None:
        return None
    text = (source_line(wanted.file, line) or "").lstrip()
    defines = text.startswith(("def ", "async def ", "@", "class "))
    behind = ", which runs at the definition and not at a call" if defines else ""
    return f"{Path(wanted.file).name}:{wanted.spec.line} has no code: it stops at line {line}{behind}"
