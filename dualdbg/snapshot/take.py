"""Reports of several processes, one after the other; what cannot be read is told and does not end the rest."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import DualdbgError
from .assemble import Assembler
from .capture import Question, capture
from .report import Failure, ProcessReport


def take(
    pids: Iterable[int], *, stop: bool = True, questions: dict[str, Question] | None = None
) -> tuple[list[ProcessReport], list[Failure]]:
    """A report of each process, and the failures. Each process is stopped for its own few milliseconds only."""
    reports, failures = [], []
    for pid in pids:
        try:
            reports.append(Assembler(capture(pid, stop, questions)).report())
        except DualdbgError as error:
            failures.append(Failure(pid, error.message, error.hint))
    return reports, failures
