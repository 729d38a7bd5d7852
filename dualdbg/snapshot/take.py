"""Reports of several processes, one after the other; what cannot be read is told and does not end the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import DualdbgError
from .assemble import Assembler
from .capture import Wanted, capture
from .procfs import is_fork_of
from .report import Failure, ProcessReport


def take(
    pids: Iterable[int], *, stop: bool = True, wanted: Wanted
) -> tuple[list[ProcessReport], list[Failure]]:
    """A report of each process, and the failures. Each process is stopped for its own few milliseconds only."""
    reports, failures = [], []
    for pid in pids:
        try:
            reports.append(Assembler(capture(pid, stop, wanted)).report())
        except DualdbgError as error:
            failures.append(Failure(pid, error.message, error.hint))
    return reports, failures


def parents_of_forks(reports: Sequence[ProcessReport], *, stop: bool) -> list[ProcessReport]:
    """Reports of the processes that these were forked from without an exec, where they are not among them."""
    known = {report.pid for report in reports}
    parents = {report.parent for report in reports if is_fork_of(report.pid, report.parent)} - known
    return take(sorted(parents), stop=stop, wanted=Wanted(locks=True))[0]
