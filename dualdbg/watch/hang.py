"""What is told of a program that does not come to an end: its stacks, what it waits for, and who computes meanwhile.

One look cannot always tell waiting from work. What had been seen a moment before is compared with then, and in between
whoever watches goes on with that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ..errors import DualdbgError
from ..snapshot.capture import Captured, Held, Wanted, capture
from ..snapshot.facts import Failure, ProcessReport
from ..snapshot.linux.targets import find_targets
from ..snapshot.other_processes import with_other_processes
from ..snapshot.report.assemble import Assembler
from ..snapshot.report.diagnose import diagnose, one_look_cannot_tell
from ..snapshot.report.finding import Finding
from ..snapshot.report.telling_frame import where
from ..snapshot.report.waits import Earlier
from ..snapshot.take import parents_of_forks
from ..symbols.source_lines import SourceLines
from .incident import Incident, Library, captured_output, libraries_of, versions_of, with_states
from .tracer import Tracer

BETWEEN_LOOKS = 1.0  # seconds


@dataclass(frozen=True)
class Look:
    """A process and what descends from it, as they were from ``began`` to ``ended`` (of the monotonic clock).

    ``stop``: whether others that explain them may be stopped to be read.
    """

    pid: int
    began: float
    ended: float
    processes: tuple[ProcessReport, ...]
    failures: tuple[Failure, ...]
    libraries: tuple[Library, ...]
    output: tuple[tuple[str, str], ...]
    stop: bool = True

    @cached_property
    def _findings(self) -> list[Finding]:
        return diagnose(self.processes, parents_of_forks(self.processes, stop=self.stop))

    @property
    def needs_another(self) -> bool:
        """Whether a second look, :data:`BETWEEN_LOOKS` later, may tell what this one cannot."""
        return one_look_cannot_tell(self.processes, self._findings)

    def incident(self, seconds: float, earlier: Look | None = None) -> Incident:
        """What is to be told of a process that has not ended after ``seconds``."""
        if earlier is None:
            findings = self._findings
        else:
            before = Earlier(earlier.processes, round(self.began - earlier.ended, 1))
            findings = diagnose(self.processes, parents_of_forks(self.processes, stop=self.stop), before)
        first = next((one for one in self.processes if one.pid == self.pid), None)
        main = first.threads[0] if first is not None and first.threads else None
        return Incident(
            "hang",
            f"has not ended after {seconds:g} s",
            self.pid,
            where(main) if main is not None else None,
            processes=self.processes,
            findings=tuple(findings),
            failures=self.failures,
            libraries=self.libraries,
            versions=versions_of(first),
            output=self.output,
        )


def look_at(
    tracer: Tracer, pid: int, *, stop: bool = True, while_held: Callable[[], None] = lambda: None
) -> Look:
    """Read a process, which runs on, and what descends from it. ``while_held`` is called when it stands still.

    ``stop``: what the tracer does not hold is stopped to be read; without, it is read while it runs.

    Raises TargetGone where there is no such process, and an OSError of ``while_held``.
    """
    began = time.monotonic()
    taken: list[_Taken] = []
    failures: list[Failure] = []
    wanted = Wanted.to_diagnose(locals=True)
    for one in find_targets([], [pid]):
        try:
            taken.append(_take(tracer, one, stop, wanted, while_held if one == pid else lambda: None))
        except DualdbgError as error:
            failures.append(Failure(one, error.message, error.hint))
    ended = time.monotonic()
    lines = SourceLines()
    reports: list[ProcessReport] = []
    for each in taken:
        try:
            report = each.assembler.report(lines)
        except DualdbgError as error:
            failures.append(Failure(each.captured.facts.pid, error.message, error.hint))
            continue
        if each.states is not None:
            report = replace(with_states(report, each.states), stopped=each.stopped)
        reports.append(report)
    return Look(
        pid,
        began,
        ended,
        tuple(with_other_processes(reports)),
        tuple(failures),
        libraries_of(taken[0].captured) if taken else (),
        captured_output(pid),
        stop,
    )


@dataclass(frozen=True)
class _Taken:
    """``states``: of each thread before we held it, where we did, and for how many seconds it was ``stopped``."""

    captured: Captured
    assembler: Assembler
    states: Mapping[int, str] | None = None
    stopped: float | None = None


def _take(tracer: Tracer, pid: int, stop: bool, wanted: Wanted, while_held: Callable[[], None]) -> _Taken:
    if not tracer.traces(pid):
        captured = capture(pid, stop, wanted)
        assembler = Assembler(captured)
        assembler.unwind()
        return _Taken(captured, assembler)
    states = tracer.states(pid)
    began = time.monotonic()
    try:
        captured = capture(pid, wanted=wanted, held=Held(tracer.hold(pid)))
        assembler = Assembler(captured)
        assembler.unwind()
        while_held()
    finally:
        tracer.release(pid)
    return _Taken(captured, assembler, states, time.monotonic() - began)
