"""What a file says of a rank: its process groups and operations, at one moment or at two. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...snapshot.facts import Collective, Distributed, ProcessGroup
from ...snapshot.report.collectives import Member
from . import fields
from .recorded_standings import recorded_standing

_MOST = 1000  # groups, and operations
_MOST_RANKS = 1 << 20  # those that are missing are counted out
_MOST_SIZES = 64  # of a tensor


@dataclass(frozen=True)
class RecordedRank:
    """A rank where its file was made. ``time``: seconds since 1970, by the clock there. ``earlier`` is the same rank
    ``seconds`` before, where that was looked at."""

    now: Member
    time: float
    earlier: Member | None = None
    seconds: float = 0.0


def recorded_rank(row: dict[str, Any]) -> RecordedRank:
    """The record of an object ``rank``. Raises ValueError for what is none."""
    pid = fields.checked(int, row.get("pid"), "pid")
    time = fields.seconds(row, "time") or 0.0
    before = fields.or_none(dict, row, "earlier")
    if before is None:
        return RecordedRank(_member(pid, row), time)
    return RecordedRank(
        _member(pid, row), time, _member(pid, before), fields.seconds(before, "seconds") or 0.0
    )


def _member(pid: int, row: dict[str, Any]) -> Member:
    rank, world_size = (fields.number(row, name) for name in ("rank", "world_size"))
    if any(number is not None and not 0 <= number <= _MOST_RANKS for number in (rank, world_size)):
        raise ValueError(f"no job has more than {_MOST_RANKS} ranks")
    return Member(
        pid=pid,
        name=f"rank {rank} (process {pid})" if rank is not None else f"process {pid}",
        rank=rank,
        world_size=world_size,
        place=fields.short(row, "place"),
        activity=fields.short(row, "activity"),
        distributed=Distributed(
            rank,
            world_size,
            tuple(map(_group, fields.objects(row, "groups", _MOST))),
            tuple(map(_collective, fields.objects(row, "collectives", _MOST))),
        ),
        blocked=fields.checked(bool, row.get("blocked"), "blocked"),
        spins=row.get("spins") is True,  # older versions do not tell
        stack=fields.short(row, "stack"),
        cpu=fields.seconds(row, "cpu"),
        standing=None
        if (where := fields.or_none(dict, row, "standing")) is None
        else recorded_standing(where),
    )


def _group(row: dict[str, Any]) -> ProcessGroup:
    rank, size = (fields.number(row, name) for name in ("rank", "size"))
    if rank is None or size is None:
        raise ValueError("a group has no rank or no size")
    last = fields.or_none(dict, row, "last")
    return ProcessGroup(
        fields.short(row, "name"),
        rank,
        size,
        _text(row, "backend"),
        fields.number(row, "sequence"),
        None if last is None else _collective(last),
    )


def _collective(row: dict[str, Any]) -> Collective:
    sizes = fields.or_none(list, row, "sizes")
    return Collective(
        operation=fields.short(row, "operation"),
        group=_text(row, "group"),
        sequence=fields.number(row, "sequence"),
        state=fields.short(row, "state"),
        sizes=None
        if sizes is None
        else tuple(fields.checked(int, each, "a size") for each in sizes[:_MOST_SIZES]),
        dtype=_text(row, "dtype"),
        bytes=fields.number(row, "bytes"),
        peer=fields.number(row, "peer"),
        thread=fields.number(row, "thread"),
        age=fields.seconds(row, "age"),
        within=_text(row, "within"),
        caller=_text(row, "caller"),
    )


def _text(row: dict[str, Any], name: str) -> str | None:
    return None if row.get(name) is None else fields.short(row, name)
