"""Who holds up a job, over the ranks of all its machines. Pure."""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass, replace

from ...snapshot.report.collectives import Member, Verdict, after_second_look, verdicts
from .gathering import Job


class Looks(enum.Enum):
    """How often the ranks were looked at. Ranks of a healthy job wait too, but not twice in the same operation."""

    ONE = "one"
    TWO = "two"  # on each machine, but not at the same moments
    TWO_TOGETHER = "two-together"  # all first looks were over before a second one began


@dataclass(frozen=True)
class Judgement:
    """The verdicts, and how often the job was looked at for them.

    ``is_ambiguous``: several processes claim the same rank, so there is no verdict. ``others``: ranks whose processes
    were read, but not what they do in the job; the verdicts leave them out.
    """

    verdicts: tuple[Verdict, ...] = ()
    looks: Looks = Looks.ONE
    is_ambiguous: bool = False
    others: frozenset[int] = frozenset()


def judge(
    job: Job,
    first: Job | None = None,
    seconds: float = 0.0,
    without: Collection[str] = (),
    unheard: int = 0,
) -> Judgement:
    """The verdicts over a job. ``first`` is the same job ``seconds`` earlier, where the machines were asked twice.

    Machines in ``without`` were asked only once, and take no part. ``unheard`` machines have not answered. The seconds
    of a verdict lie between both looks at its rank, by the clock of that machine.
    """
    if job.twice or _is_twice(job):
        return Judgement(is_ambiguous=True)
    name = _Names({name for name, _ in job.members})
    parts = [(name(source, row.now), source, row) for source, row in job.members if source not in without]
    now = [member for member, _, _ in parts]
    # Ranks that we have numbered ourselves, as they came, are not those of torch.distributed.
    others = (
        frozenset[int]() if job.is_numbered else frozenset(job.ranks).difference(each.rank for each in now)
    )
    if first is not None:
        looks = Looks.TWO_TOGETHER
        before = [name(source, row.now) for source, row in first.members]
        times = {member.pid: row.time for member, (_, row) in zip(before, first.members, strict=True)}
        between = {
            member.pid: max(seconds, round(row.time - times.get(member.pid, row.time), 1))
            for member, _, row in parts
        }
        found = after_second_look(before, now, between, others)
    elif job.members and all(row.earlier is not None for _, row in job.members):
        looks = Looks.TWO if name.are_several else Looks.TWO_TOGETHER
        before = [name(source, row.earlier) for _, source, row in parts if row.earlier is not None]
        between = {member.pid: row.seconds for member, _, row in parts}
        found = after_second_look(before, now, between, others)
    else:
        looks = Looks.ONE
        found = verdicts(now, others)
    told = tuple(_with_unheard(verdict, unheard) for verdict in found)
    return Judgement(told, looks, others=others if any(member.blocked for member in now) else frozenset())


def _with_unheard(verdict: Verdict, unheard: int) -> Verdict:
    if verdict.kind != "gone" or not unheard:
        return verdict
    some = "one node has" if unheard == 1 else f"{unheard} nodes have"
    return replace(verdict, text=f"{verdict.text}\n{some} not answered: that is where to look first")


class _Names:
    """Members of several machines, told apart: they may have the same process ids."""

    def __init__(self, sources: Collection[str]) -> None:
        self.are_several = len(sources) > 1
        self._numbers: dict[tuple[str, int], int] = {}

    def __call__(self, source: str, member: Member) -> Member:
        number = self._numbers.setdefault((source, member.pid), len(self._numbers) + 1)
        at = f" on {source}" if self.are_several else ""
        process = f"process {member.pid}{at}"
        name = f"rank {member.rank} ({process})" if member.rank is not None else process
        return replace(member, pid=number, name=name)


def _is_twice(job: Job) -> bool:
    ranks = [row.now.rank for _, row in job.members if row.now.rank is not None]
    return len(ranks) != len(set(ranks))
