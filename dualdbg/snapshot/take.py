"""Reports of several processes, one after the other; a process that cannot be read does not stop the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ..errors import DualdbgError
from ..symbols.address_space import AddressSpace
from ..symbols.source_lines import SourceLines
from .capture import Held, Wanted, capture
from .facts import Failure, ProcessReport
from .known import Known
from .report.assemble import Assembler


def take(
    pids: Iterable[int],
    *,
    stop: bool = True,
    wanted: Wanted,
    lines: SourceLines | None = None,
    known: dict[int, Known] | None = None,
    held: Mapping[int, Held] = MappingProxyType({}),
) -> tuple[list[ProcessReport], list[Failure]]:
    """A report of each process, and the failures. Each process is stopped for its own few milliseconds only.

    ``lines`` looks up file and line of native frames, when all processes were read: that takes longer. ``known`` has
    what earlier samples have learnt of processes, and gets what this one learns. ``held``: those that a debugger of
    ours holds.
    """
    known = {} if known is None else known
    assemblers: list[tuple[int, Assembler]] = []
    reports, failures = [], []
    for pid in pids:
        try:
            one = known.setdefault(pid, Known(AddressSpace(pid)))
            assembler = Assembler(capture(pid, stop, wanted, held.get(pid), one))
            assembler.unwind()
            assemblers.append((pid, assembler))
        except DualdbgError as error:
            failures.append(Failure(pid, error.message, error.hint))
    for pid, assembler in assemblers:
        try:
            reports.append(assembler.report(lines))
        except DualdbgError as error:
            failures.append(Failure(pid, error.message, error.hint))
    return reports, failures


def same_files(known: Mapping[int, Known]) -> frozenset[int]:
    """The processes that live and have the same files as at the last call: of these, samples that were taken since by
    the map of an earlier one are right."""
    return frozenset([pid for pid, one in known.items() if one.refresh()])


def parents_of_forks(reports: Sequence[ProcessReport], *, stop: bool) -> list[ProcessReport]:
    """Reports of the processes that these were forked from without an exec, unless they are in ``reports`` already."""
    known = {report.pid for report in reports}
    parents = {report.forked_from for report in reports if report.forked_from is not None} - known
    return take(sorted(parents), stop=stop, wanted=Wanted(locks=True))[0]
