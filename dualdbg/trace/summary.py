"""What a trace has found, as rows: functions with their hits, who called them, and with what. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..symbols.names.cxx_names import parse
from ..system.terminal_text import visible
from .collector import Numbers, Times
from .python_lines import PythonLine

_EARLIER = "others came when calls were only counted"


@dataclass(frozen=True)
class Caller:
    """Where a function was called: the line of Python, and the native function; None where that is not known.

    Of a function without a name its library stands there, ``libcudart.so.13``.
    """

    line: PythonLine | None
    function: str | None

    @property
    def text(self) -> str:
        """``FUNCTION FILE:LINE``; the native caller where there is no Python."""
        if self.line is None:
            return f"{self.function}, no Python line" if self.function is not None else "not known"
        return self.line.text

    @property
    def by_line(self) -> Caller:
        """Without the native function where there is a line."""
        return Caller(self.line, None if self.line is not None else self.function)


@dataclass
class Row:
    """A function, or several places of it. ``hits``, in so many ``seconds``, is None where nothing was counted; ``why``
    says why not, or why not all the time. ``records``: how many of the hits were taken down, which ``callers`` and
    ``numbers`` are about; None where only hits were counted; ``only_counted``: how many were not to be taken down.

    ``times``, in seconds: of all calls that were timed, None where that was not wanted; ``caller_times`` of those whose
    returns were taken down; ``untimed``: why others are not. ``is_looped``: each time that a call comes to the place
    again by a jump is a hit too.
    """

    function: str
    library: str | None
    hits: int | None
    why: str | None = None
    records: int | None = None
    callers: Counter[Caller] = field(default_factory=Counter)
    numbers: dict[str, Numbers] = field(default_factory=dict)
    times: Times | None = None
    caller_times: dict[Caller, Times] = field(default_factory=dict)
    untimed: tuple[str, ...] = ()
    is_looped: bool = False
    seconds: float = 0.0
    only_counted: int = 0

    @property
    def dropped(self) -> int:
        """How many hits found no room."""
        return (self.hits or 0) - self.records - self.only_counted if self.records is not None else 0

    @property
    def rate(self) -> float:
        """Hits in one second."""
        return (self.hits or 0) / self.seconds if self.seconds > 0 else 0.0

    def lines(self) -> list[tuple[Caller, int, Times]]:
        """The callers by Python line, without the native functions between where there is a line; most hits first, or
        those that took longest.
        """
        found: Counter[Caller] = Counter()
        times: defaultdict[Caller, Times] = defaultdict(Times)
        for caller, count in self.callers.items():
            found[caller.by_line] += count
        for caller, more in self.caller_times.items():
            times[caller.by_line].add(more)
        rows = [(caller, count, times[caller]) for caller, count in found.items()]
        return sorted(rows, key=lambda row: (-row[2].total, -row[1], row[0].text))


@dataclass(frozen=True)
class Summary:
    """The rows, most hits first; in how many seconds; and what was asked for and is not in the program."""

    rows: tuple[Row, ...]
    seconds: float
    missing: tuple[str, ...] = ()

    @cached_property
    def _shorts(self) -> dict[str, str]:
        """Each function's name without parameters and template arguments."""
        return {row.function: parse(row.function).short for row in self.rows}

    @cached_property
    def _alike(self) -> Counter[tuple[str, str | None]]:
        return Counter((self._shorts[row.function], row.library) for row in self.rows)

    def name(self, row: Row) -> str:
        """What a row is called: as short as it can be without being called as another one is."""
        short = self._shorts[row.function]
        return short if self._alike[short, row.library] == 1 else row.function

    @property
    def dropped(self) -> int:
        """How many hits were counted and not taken down."""
        return sum(row.dropped for row in self.rows)


def summed(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Rows of the same function as one, where they say the same of it; the most hits first."""
    found: dict[tuple[str, str | None, str | None, bool], Row] = {}
    for row in rows:
        key = row.function, row.library, row.why, row.hits is None
        before = found.setdefault(key, row)
        if before is not row:
            _add(before, row)
    return tuple(sorted(found.values(), key=lambda row: (row.hits is None, -(row.hits or 0), row.function)))


def _add(to: Row, more: Row) -> None:
    to.hits = (to.hits or 0) + (more.hits or 0) if to.hits is not None else None
    if more.records is not None:
        to.records = (to.records or 0) + more.records
    to.is_looped = to.is_looped or more.is_looped
    to.seconds = max(to.seconds, more.seconds)
    to.only_counted += more.only_counted
    if (to.times is None) is not (more.times is None):
        to.untimed += (_EARLIER,)
    to.callers.update(more.callers)
    if more.times is not None:
        to.times = to.times or Times()
        to.times.add(more.times)
    for caller, times in more.caller_times.items():
        to.caller_times.setdefault(caller, Times()).add(times)
    to.untimed = tuple(dict.fromkeys((*to.untimed, *more.untimed)))
    for name, numbers in more.numbers.items():
        to.numbers.setdefault(name, Numbers()).add(numbers)


def folded(rows: Sequence[Row]) -> Iterable[str]:
    """A line for each way of a call, as flamegraph.pl and speedscope read it: Python line, native caller, function.

    Its number is that of the hits, or of the microseconds where calls were timed.
    """
    found: Counter[str] = Counter()
    for row in rows:
        counts: Mapping[Caller, int] = row.callers
        if row.times is not None:
            counts = {caller: round(times.total * 1e6) for caller, times in row.caller_times.items()}
        for caller, count in counts.items():
            parts = [caller.text if caller.line is not None else "no Python line"]
            parts += [caller.function] if caller.function is not None else []
            found[";".join(visible(part).replace(";", ":") for part in (*parts, row.function))] += count
    return (f"{stack} {count}" for stack, count in sorted(found.items()))
