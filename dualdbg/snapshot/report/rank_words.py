"""Ranks and their operations in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..facts import Collective
from .fold import ranges


class Named(Protocol):
    """A process of a job, with what people are told of it, and its rank where that is known."""

    @property
    def pid(self) -> int:
        """Its process id."""

    @property
    def name(self) -> str:
        """``rank 3 (process 4711)``."""

    @property
    def rank(self) -> int | None:
        """That in the world."""


def described(call: Collective) -> str:
    """``all_reduce number 5 of group 0 (float32 [2, 3])``, as far as it is known."""
    text = call.operation
    if call.peer is not None:
        text += f" {'to' if call.operation == 'send' else 'from'} rank {call.peer}"
    if call.sequence is not None:
        text += f" number {call.sequence}"
    if call.group is not None:
        text += f" of group {call.group}"
    if call.dtype is not None and call.sizes is not None:
        text += f" ({call.dtype} {list(call.sizes)})"
    if call.within is not None:
        text += f" for {call.within}"
    return text


def ranks_of(members: Sequence[Named]) -> tuple[int, ...]:
    """The numbers of those that have one."""
    return tuple(member.rank for member in members if member.rank is not None)


def names_of(members: Sequence[Named]) -> str:
    """``ranks 0-2, 5``, or the processes where ranks are not known."""
    if len(members) == 1:
        return members[0].name
    ranks = ranks_of(members)
    if len(ranks) == len(members):
        return f"ranks {ranges(sorted(ranks))}"
    pids = ", ".join(str(member.pid) for member in members[:8])
    return f"processes {pids}" + (f" and {len(members) - 8} more" if len(members) > 8 else "")
