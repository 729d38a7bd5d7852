"""From the files that ``dualdbg stacks --json`` wrote, on any machines, to one job. Nothing here looks at a process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ...snapshot.report.jobs import OfRank, those_that_are_ranks
from ...snapshot.report.standing import Standing, all_stand_still
from .recorded import BadRecord, Known, RecordedProcess, RecordedStack, Remark, Source, recorded
from .recorded_ranks import RecordedRank
from .tree import Node

_OF_JOBS = "collective"  # the kind of finding
_MOST_REMARKS = 1000  # of one kind: what is said of ten thousand ranks nobody reads


@dataclass(frozen=True)
class Seen:
    """What was seen where a file was made, ``source``, at that ``time``, and the threads that waited, as they stood."""

    source: str
    text: str
    waiting: tuple[Standing, ...] = ()
    time: float = 0.0

    def is_still_so(self, now: Seen, least: float) -> bool:
        """Whether the same was seen ``now``, at least so many seconds later, and none of those who wait has moved. Who
        waits for what is the same: the lines below say where others are, and these may move."""
        if (self.source, self.text.partition("\n")[0]) != (now.source, now.text.partition("\n")[0]):
            return False
        return all_stand_still(self.waiting, now.waiting, max(least, now.time - self.time))


@dataclass(frozen=True)
class Unread:
    """A file or a process that could not be read, with the file's name, and what to type next."""

    text: str
    hint: str = ""


@dataclass
class Job:
    """All ranks that were read.

    ``files`` were named, ``unread`` are those of them of which nothing could be read.
    ``is_numbered``: no process told its rank, and they are numbered as they came. ``others`` counts processes that are
    no ranks: launchers, and what ranks have started. ``launchers`` are those of files without a rank. ``twice`` are
    ranks that several processes claim. ``failures`` are files and processes that could not be read. ``members`` say
    what the ranks do in torch.distributed, by the file's name.
    """

    root: Node = field(default_factory=Node)
    files: int = 0
    unread: int = 0
    is_numbered: bool = False
    others: int = 0
    launchers: list[str] = field(default_factory=list)
    twice: set[int] = field(default_factory=set)
    failures: list[Unread] = field(default_factory=list)
    findings: list[Seen] = field(default_factory=list)
    members: list[tuple[str, RecordedRank]] = field(default_factory=list)

    @property
    def ranks(self) -> set[int]:
        """The ranks that were read."""
        return self.root.ranks

    @property
    def world_size(self) -> int | None:
        """How many ranks the job has, by what its launcher or its program has told those that were read; None where
        none was told it."""
        told = [row.now.world_size for _, row in self.members if row.now.world_size]
        return max(told, default=None) if self.ranks and not self.is_numbered else None

    @property
    def missing(self) -> str:
        """Ranks of the job that no file has, as ``3, 7-9``. Where no rank was told how many there are, those below the
        highest one that was read.

        From gap to gap: a file may claim any rank, and what lies below it is not counted out.
        """
        have = [] if self.is_numbered else sorted(self.ranks)
        ends = [-1, *have, max(self.world_size or 0, have[-1] + 1)] if have else []
        gaps = [(before + 1, rank - 1) for before, rank in pairwise(ends) if rank - before > 1]
        return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in gaps)


def gather(sources: Iterable[Source], all_threads: bool = False) -> Job:
    """Read the files, one after the other; one that cannot be read is a failure, and the rest is read."""
    job = Job()
    known: Known = {}
    having: dict[RecordedStack, set[int]] = {}
    unlabelled: list[RecordedProcess] = []
    for source in sources:
        job.files += 1
        here: dict[int, RecordedProcess] = {}  # of this file: with a rank
        without: list[RecordedProcess] = []
        members: list[RecordedRank] = []
        is_begun = False
        try:
            for found in recorded(source, known, all_threads):
                is_begun = True
                if isinstance(found, RecordedRank):
                    members.append(found)
                elif isinstance(found, Remark):
                    # Of one machine alone the verdict is another one: it is found anew over all of them.
                    if found.kind != _OF_JOBS or not members:
                        _note(job, source.name, found)
                elif found.rank is None:
                    without.append(found)
                else:
                    here[found.pid] = found
        except BadRecord as error:
            job.failures.append(Unread(error.message, error.hint))
            job.unread += not is_begun
        launching = _launching(without)
        job.others += len(launching)
        job.launchers += [
            f"process {one.pid} of {source.name}" for one in without if one.is_launcher and not here
        ][: _MOST_REMARKS - len(job.launchers)]
        unlabelled += [one for one in without if one.pid not in launching]
        left_out = _add(job, here, having)
        job.members += [(source.name, one) for one in members if one.now.pid not in left_out]
    if job.ranks:
        job.others += len(unlabelled)
    else:
        job.is_numbered = bool(unlabelled)
        for number, found in enumerate(unlabelled):
            _take(job, number, found, having)
    for stack, ranks in having.items():
        job.root.add(ranks, stack.places)
    return job


def _add(job: Job, here: dict[int, RecordedProcess], having: dict[RecordedStack, set[int]]) -> set[int]:
    """The ranks of one file. What else has a rank has it by the environment that it was given: their process ids."""
    ranks = those_that_are_ranks(
        [
            OfRank(one.pid, one.parent, one.rank, one.is_python, one.is_loader, one.is_started)
            for one in here.values()
        ]
    )
    job.others += len(here) - len(ranks)
    for one in here.values():
        if one.pid in ranks and one.rank is not None:
            if one.rank in job.ranks:
                job.twice.add(one.rank)
            _take(job, one.rank, one, having)
    return here.keys() - ranks


def _launching(processes: Sequence[RecordedProcess]) -> set[int]:
    """The launchers among processes of one machine, and what these were started by: none of them is a rank."""
    by_pid = {one.pid: one for one in processes}
    found: set[int] = set()
    for launcher in processes:
        one = launcher if launcher.is_launcher else None
        while one is not None and one.pid not in found:
            found.add(one.pid)
            one = by_pid.get(one.parent)
    return found


def _take(job: Job, rank: int, found: RecordedProcess, having: dict[RecordedStack, set[int]]) -> None:
    job.root.ranks.add(rank)
    for stack in found.stacks:
        having.setdefault(stack, set()).add(rank)


def _note(job: Job, name: str, remark: Remark) -> None:
    if remark.is_failure and len(job.failures) < _MOST_REMARKS:
        job.failures.append(Unread(f"{name}: {remark.text}", remark.hint))
    elif not remark.is_failure and len(job.findings) < _MOST_REMARKS:
        job.findings.append(Seen(name, remark.text, remark.waiting, remark.time))
