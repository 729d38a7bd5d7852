"""A trace: what the probes of one session count and take down, from its start to the result."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from ..in_thread import in_thread
from ..known.greenlets import is_of_greenlets
from ..model import Location
from ..symbols.address_space import Module
from ..symbols.locspec.breakpoint_spec import parse_spec, spec_text
from ..target.launcher import Launch, Meeting, Target, spawn
from ..target.terminal import Terminal
from ..trace.clock import Clock
from ..trace.collector import Collector, Records, Source, Times
from ..trace.python_lines import PythonLine
from ..trace.python_probes import PythonMemory, PythonProbe
from ..trace.summary import Caller, Row, Summary, summed
from ..trace.thread_names import ThreadNames
from .breakpoints.tracing import TracedPlace, Tracing
from .session import Session

_UNSURE = "greenlets share one stack: which of their calls returns is not known"


def traced_specs(texts: Sequence[str], is_operator: Callable[[str], bool] | None) -> tuple[str, ...]:
    """The specs of breakpoints that count, for what is to be traced. Raises SpecError."""
    return tuple(spec_text(replace(parse_spec(text, is_operator), counts=True)) for text in texts)


def alone(what: Launch) -> Launch:
    """The same program as a native one: nothing of ours runs in its interpreter."""
    if what.native is not None:
        return what
    words = tuple(what.command()[1:])
    return replace(what, native=what.python, script=None, module=None, code=None, flags=(), args=words)


async def spawn_alone(launch: Launch, meeting: Meeting | None, *, terminal: Terminal | None = None) -> Target:
    """Start a program without anything of ours."""
    return await spawn(launch, None, terminal=terminal)


class Trace:
    """Follows a session from :meth:`begin` to :meth:`end`; :meth:`close` gives the memory of the records back.

    ``counts``: nothing but counters. ``spool``: a file for each record that is taken down, ``most`` of them. ``clock``:
    calls are timed by it.
    """

    def __init__(
        self, counts: bool, spool: BinaryIO | None = None, most: int = 0, clock: Clock | None = None
    ) -> None:
        self._counts = counts
        self._clock = clock
        self._spool = spool
        self._most = most
        self._began = 0.0
        self._stopped = 0.0
        self._begun = False
        self._python: PythonMemory | None = None
        self._shares_stacks = False
        self._modules: dict[tuple[int, int], Module | None] = {}  # by address and epoch
        self._session: Session
        self.names: ThreadNames
        self.collector: Collector

    @property
    def tracing(self) -> Tracing:
        """What the session knows of its probes."""
        return self._session.breakpoints.tracing

    def begin(self, session: Session, *, is_ours: bool) -> None:
        """Called before anything happens in the session. ``is_ours``: its program was started by it."""
        self._session = session
        self.names = ThreadNames(lambda: session.pid)
        self._begun = True
        session.new_program.brings_python = False
        self.tracing.records = not self._counts
        self.tracing.times = self._clock is not None
        tracing = self.tracing
        self.collector = Collector(
            tracing.sources, tracing.arguments, self._spool, self._most, tracing.call_of, self.names
        )
        tracing.before_change = self._learn_modules
        if is_ours:  # another process is not given one more trap, for the case of our death
            self.tracing.before_end = partial(in_thread, self.collector.take)
        self.collector.start()

    def add_python(self, probes: Sequence[PythonProbe], memory: PythonMemory) -> None:
        """Python functions and lines, which are counted in the interpreter. Called behind :meth:`begin`."""
        self._python = memory
        source = Source(memory.memory, lambda: None, memory.lines, in_nanoseconds=True)
        self.tracing.others.append(source)
        for one in probes:
            where = Location(one.title, one.file, None, one.file, one.line)
            untimed = ("it is a line of a function",) if one.name is None else ()
            place = TracedPlace(set(), 0, where, in_nanoseconds=True, untimed=untimed)
            self.tracing.add_python(place, memory.memory, one.probe, one.returns)

    def program_runs(self) -> None:
        """The time of the trace begins."""
        self._began = time.monotonic()

    def stop_clock(self) -> None:
        """The time of the trace ends."""
        self._stopped = self._stopped or time.monotonic()

    async def end(self) -> Summary:
        """What was found, once the session is closed."""
        self.stop_clock()
        await in_thread(self.collector.stop)
        self.tracing.learn_left_out()
        self._look_for_shared_stacks()
        why_not = self._python.why_not() if self._python is not None else None
        for place in self.tracing.places:
            if place.in_nanoseconds and why_not is not None:
                place.memory, place.why_not = None, why_not
            elif place.in_nanoseconds and self._python is not None:
                place.left_out = self._python.lines.ended
        found = {id for place in self.tracing.places for id in place.ids}
        missing = tuple(row.spec.text for row in self._session.breakpoints.all() if row.id not in found)
        return Summary(summed(map(self._row, self.tracing.places)), self._stopped - self._began, missing)

    async def _learn_modules(self) -> None:
        """The libraries of the callers so far."""
        self._look_for_shared_stacks()
        image = self._session.breakpoints.image
        for caller, epoch in await in_thread(self.collector.end_epoch):
            self._modules[caller, epoch] = image.module_at(caller - 1)

    def _look_for_shared_stacks(self) -> None:
        modules = self._session.breakpoints.image.modules
        self._shares_stacks |= any(is_of_greenlets(one.path) for one in modules)

    def _unit(self, place: TracedPlace) -> float:
        """That of times of a place, in seconds."""
        assert self._clock is not None
        return 1e-9 if place.in_nanoseconds else 1 / self._clock.ticks_a_second()

    def so_far(self, most: int) -> list[tuple[str, int, PythonLine | None, float | None]]:
        """The functions with the most hits: name, hits, the line with the most of them, seconds inside."""
        hits: Counter[str] = Counter()
        places: dict[str, list[TracedPlace]] = {}
        for place in self.tracing.places:
            hits[name_of(place)] += place.hits
            places.setdefault(name_of(place), []).append(place)
        found = []
        for name, count in hits.most_common(most):
            largest = max(places[name], key=lambda place: place.hits)
            line = None
            if not self._counts and largest.memory is not None:
                line = self.collector.most_called_from(largest.memory, largest.probe)
            seconds = None
            if self._clock is not None:
                seconds = sum(place.ticks * self._unit(place) for place in places[name])
            found.append((name, count, line, seconds))
        return found

    async def give_up(self) -> None:
        """The session was closed before its program ran: nothing was found."""
        if self._begun:
            await in_thread(self.collector.stop)
            self.close()

    def close(self) -> None:
        """Give back what the session and we had for it."""
        self.tracing.close()
        if self._python is not None:
            self._python.close()

    def _row(self, place: TracedPlace) -> Row:
        where = place.location
        library = Path(where.library).name if where.library is not None else None
        row = Row(name_of(place), library, None, place.why_not)
        if place.memory is None:
            return row
        row.hits, row.why, row.is_looped = place.hits, place.left_out, place.is_looped
        if row.hits == 0 and row.why is not None:  # whether it was called while it was left out nobody knows
            row.hits = None
            return row
        unit, is_sure = 0.0, True
        if self._clock is not None:
            unit = self._unit(place)
            row.times = Times(place.timed, place.ticks * unit)
            row.untimed = place.untimed
            is_sure = place.in_nanoseconds or not self._shares_stacks
            if not is_sure:
                row.times, row.untimed = Times(), (_UNSURE,)
        if self._counts:
            return row
        records = self.collector.records.get((place.memory, place.probe), Records())
        row.records, row.numbers = records.count, records.numbers
        names: dict[tuple[int, int], str | None] = {}
        image = self._session.breakpoints.image
        for site in {**records.sites, **records.times}:
            key = site.caller, site.epoch
            if key not in names:
                at = site.caller - 1
                module = self._modules[key] if key in self._modules else image.module_at(at)
                name, path = image.describe_in(module, at) if site.caller else (None, None)
                names[key] = name or (Path(path).name if path is not None else None)
        for site, count in records.sites.items():
            row.callers[Caller(site.line, names[site.caller, site.epoch])] += count
        for site, times in records.times.items() if is_sure else ():
            row.caller_times.setdefault(Caller(site.line, names[site.caller, site.epoch]), Times()).add(
                times, unit
            )
        if row.times is not None:
            row.times.most = max((one.most for one in row.caller_times.values()), default=0.0)
        return row


def name_of(place: TracedPlace) -> str:
    """What a place is called: its function, else its address."""
    return place.location.function or f"{place.location.address or 0:#x}"
