"""What is counted and taken down in a session, from the first breakpoint that counts on: followed to its end."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from ..errors import UsageError
from ..known.greenlets import is_of_greenlets
from ..model import BreakpointSpec, Language, Location, State
from ..symbols.address_space import Module
from ..symbols.locspec.breakpoint_spec import parse_spec, spec_text, specs_in
from ..system.in_thread import in_thread
from ..system.waiting import to_its_end
from ..trace.clock import Clock
from ..trace.collector import Collector, Source, Times
from ..trace.python_lines import PythonLine
from ..trace.python_probes import PythonMemory, PythonProbe
from ..trace.running_time import RunningTime
from ..trace.summary import Caller, Row, Summary, summed
from ..trace.thread_names import ThreadNames
from .breakpoints.tracing import Manner, TracedPlace, Tracing
from .session import Session

__all__ = ["Trace", "add", "clock", "name_of", "specs_in", "traced_specs"]

_UNSURE = "greenlets share one stack: which of their calls returns is not known"
_STANDS = (State.STARTING, State.PYTHON_STOPPED, State.NATIVE_STOPPED)


def traced_specs(
    texts: Sequence[str], is_operator: Callable[[str], bool] | None, manner: Manner
) -> tuple[str, ...]:
    """The specs of breakpoints that count, for what is to be traced. Raises SpecError."""
    return tuple(_traced(parse_spec(text, is_operator), manner) for text in texts)


def _traced(spec: BreakpointSpec, manner: Manner) -> str:
    return spec_text(replace(spec, counts=True, records=manner.records, times=manner.times))


def clock() -> Clock:
    """What calls are timed by. Raises UsageError."""
    try:
        return Clock()
    except OSError as error:
        text = f"trace: the time of events cannot be read, for no machine code may be made: {error.strerror}"
        raise UsageError(text, "trace without times") from error


async def add(session: Session, texts: Sequence[str], times: bool) -> None:
    """Have calls taken down from now on; each spec is a breakpoint that counts. Raises SpecError, UsageError."""
    table = session.breakpoints
    wanted: list[str] = []
    for text in texts:
        for spec in table.read(text):
            if spec.language is Language.PYTHON:
                raise UsageError(
                    f"{text} is Python, which is traced from the start of its interpreter on: not at the prompt",
                    f"dualdbg trace -b {shlex.quote(text)} SCRIPT; here break … log TEXT tells of each call",
                )
            wanted.append(_traced(spec, Manner(True, times)))
            table.read(wanted[-1])
    for one in wanted:
        await table.add(one)


class Trace:
    """Follows a session to its end, and can say at any moment what was found so far.

    It is made before anything is counted. ``spool``: a file for each record that is taken down, ``most`` of them.
    ``clock``: calls are timed by it, where times are wanted.
    """

    def __init__(
        self, session: Session, spool: BinaryIO | None = None, most: int = 0, clock: Clock | None = None
    ) -> None:
        self._session = session
        session.trace = self
        self._clock = clock
        self._speed: float | None = None
        self._python: PythonMemory | None = None
        self._python_why: str | None = None
        self._shares_stacks = False
        self._modules: dict[tuple[int, int], Module | None] = {}  # by address and epoch
        self._ending = asyncio.Lock()
        self._is_over = False
        self.names = ThreadNames(lambda: session.pid)
        tracing = self.tracing
        self.collector = Collector(
            tracing.sources, tracing.arguments, spool, most, tracing.call_of, self.names
        )
        tracing.before_change = self._learn_modules
        tracing.at_memory = self._begin_to_read
        self._time = RunningTime(runs=session.state not in _STANDS)
        session.new_program.at_begin.append(self._time.run)
        session.before_resume.append(self._time.run)
        session.after_stop.append(self._time.stand)
        session.before_detach.append(self.end)
        session.at_close.append(self._give_up)
        session.background(self._to_the_end())

    @property
    def tracing(self) -> Tracing:
        """What the session knows of its probes."""
        return self._session.breakpoints.tracing

    @property
    def takes_down(self) -> bool:
        """Whether there is more to say than the list of breakpoints does."""
        return any(row.spec.records for row in self._session.breakpoints.all())

    def expects(self, spec: BreakpointSpec) -> None:
        """Hits of this are to be counted. Raises UsageError where its calls cannot be timed."""
        if spec.times and self._clock is None:
            self._clock = clock()

    def add_python(self, probes: Sequence[PythonProbe], memory: PythonMemory, manner: Manner) -> None:
        """Python functions and lines, which are counted in the interpreter."""
        self._python = memory
        source = Source(memory.memory, lambda: None, memory.lines, in_nanoseconds=True)
        self.tracing.others.append(source)
        for one in probes:
            where = Location(one.title, one.file, None, one.file, one.line)
            untimed = ("it is a line of a function",) if one.name is None else ()
            place = TracedPlace(set(), 0, where, manner, in_nanoseconds=True, untimed=untimed)
            self.tracing.add_python(place, memory.memory, one.probe, one.returns)
        self._begin_to_read()

    def _begin_to_read(self) -> None:
        # A process that was not started by us is not given one more trap, for the case of our death.
        if self._session.target is not None:
            self.tracing.before_end = partial(in_thread, self.collector.take)
        if any(source.memory.shared.rings for source in self.tracing.sources()):
            self.collector.start()

    def stop_clock(self) -> None:
        """The time of the trace ends."""
        self._time.end()

    # -- the end --------------------------------------------------------------------------------------

    async def _to_the_end(self) -> None:
        await self._session.ended.wait()
        await to_its_end(self.end())

    async def end(self) -> None:
        """Nothing follows: what is left is read, and the memory given back. It may have been done already.

        The process is gone, or held by gdb without anything of ours in its code.
        """
        async with self._ending:
            if self._is_over:
                return
            self._is_over = True
            self.stop_clock()
            try:
                await in_thread(self.collector.stop)
                self._look_for_shared_stacks()
            finally:
                self._close()

    def _give_up(self) -> None:
        """The session is closed, and nobody has waited for the end of the trace."""
        if not self._is_over:
            self._is_over = True
            try:
                self.collector.stop()
            finally:
                self._close()

    def _close(self) -> None:
        if self._python is not None:
            self._python_why = self._python.why_not()
            self._python.close()
        self.tracing.close()

    # -- what was found -------------------------------------------------------------------------------

    async def summary(self) -> Summary:
        """What was found so far. The program is halted for it, where it runs: what was counted is all taken down then.

        Raises WrongState where it stopped for another reason meanwhile.
        """
        if self._session.ended.is_set():
            await self.end()
        if self._is_over:
            return await self._found()
        found: Summary = await self._session.interrupted(self._found)
        return found

    async def _found(self) -> Summary:
        if not self._is_over:
            await in_thread(self.collector.take)
            self._look_for_shared_stacks()
        self.tracing.learn_left_out()
        for place in self.tracing.places:
            if place.in_nanoseconds and self._python_why is not None:
                place.memory, place.why_not = None, self._python_why
            elif place.in_nanoseconds and self._python is not None:
                place.left_out = self._python.lines.ended
        counting = {row.id: row for row in self._session.breakpoints.all() if row.spec.counts}
        # Those of breakpoints that were removed are left out, as in the list of breakpoints.
        shown = [one for one in self.tracing.places if not one.ids or one.ids & counting.keys()]
        found = {id for place in shown for id in place.ids}
        missing = tuple(row.spec.text for id, row in counting.items() if id not in found)
        return Summary(summed(map(self._row, shown)), self._time.since(0.0), missing)

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
        """That of times of a place, in seconds; the same in each report."""
        if place.in_nanoseconds:
            return 1e-9
        assert self._clock is not None
        self._speed = self._speed or self._clock.ticks_a_second()
        return 1 / self._speed

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
            if largest.manner.records and largest.memory is not None:
                line = self.collector.most_called_from(largest.memory, largest.probe)
            timed = [place for place in places[name] if place.manner.times]
            seconds = sum(place.ticks * self._unit(place) for place in timed) if timed else None
            found.append((name, count, line, seconds))
        return found

    def _row(self, place: TracedPlace) -> Row:
        where = place.location
        library = Path(where.library).name if where.library is not None else None
        row = Row(name_of(place), library, None, place.why_not, seconds=self._time.since(place.since))
        if place.memory is None:
            return row
        row.hits, row.why, row.is_looped = place.hits, place.left_out, place.is_looped
        if row.hits == 0 and row.why is not None:  # whether it was called while it was left out nobody knows
            row.hits = None
            return row
        unit, is_sure = 0.0, True
        if place.manner.times:
            unit = self._unit(place)
            row.times = Times(place.timed, place.ticks * unit)
            row.untimed = place.untimed
            is_sure = place.in_nanoseconds or not self._shares_stacks
            if not is_sure:
                row.times, row.untimed = Times(), (_UNSURE,)
        if not place.manner.records:
            row.only_counted = row.hits
            return row
        records = self.collector.found(place.memory, place.probe)
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
