"""Which rank holds up a job of torch.distributed, and why: from the records of its processes. Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from ...known.torch_operations import POINT_TO_POINT, SAME_TENSORS
from ..facts import Collective, Distributed, ProcessGroup
from .fold import ranges
from .standing import BUSY, Standing, stands_still, wakings, was_woken
from .waits import seconds_in_words


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


_START = frozenset(("init_process_group", "new_group"))
_LONG = 10.0  # seconds: what all ranks have called is told only if it takes longer
_BY_ITSELF = "nccl"  # a backend that works while the program goes on


@dataclass(frozen=True)
class Member:
    """One process of a job. ``place``: the line of the user that it is at; ``activity``: what it does there.

    ``rank`` and ``world_size`` are those of the job, as far as they are known. ``blocked``: a thread stands in the
    waiting part of an operation, or in the GPU's driver; ``spins``: it waits for the GPU, on a processor. ``name`` is
    how people are told of it, ``stack`` differs where it has moved. ``cpu``: seconds of CPU time that its thread has
    had, ``standing`` what else tells whether it moves.
    """

    pid: int
    name: str
    rank: int | None
    world_size: int | None
    place: str
    activity: str
    distributed: Distributed
    blocked: bool = False
    stack: Hashable = None
    cpu: float | None = None
    standing: Standing | None = None
    spins: bool = False

    def group(self, name: str | None) -> ProcessGroup | None:
        """The process group of this name; None where the process is not in it."""
        return None if name is None else self._groups.get(name)

    def call(self, group: str | None) -> Collective | None:
        """The oldest operation of all ranks in a group that has begun and is not done."""
        return self._oldest.get(group)

    @cached_property
    def _groups(self) -> dict[str, ProcessGroup]:
        return {group.name: group for group in reversed(self.distributed.groups)}

    @cached_property
    def _oldest(self) -> dict[str | None, Collective]:
        found: dict[str | None, Collective] = {}
        for call in self.distributed.collectives:
            if call.operation not in POINT_TO_POINT:
                there = found.setdefault(call.group, call)
                if (call.sequence or 0) < (there.sequence or 0):
                    found[call.group] = call
        return found


@dataclass(frozen=True)
class Verdict:
    """What holds a job up. ``kind``: ``order`` (ranks wait for each other), ``mismatch``, ``absent`` (a rank never
    came), ``straggler`` (it has not come yet, but moves), ``gone`` (a rank has no process),
    ``unfinished`` (all have called it). ``ranks`` and ``place`` are of whom it is about, ``pids`` of all concerned.
    """

    kind: str
    ranks: tuple[int, ...]
    place: str | None
    text: str
    pids: tuple[int, ...]


@dataclass
class _Waiting:
    """Members in one operation, for whom they wait there, and which ranks have no process."""

    call: Collective
    callers: list[Member]
    absent: list[Member] = field(default_factory=list)
    gone: frozenset[int] = frozenset()


def verdicts(members: Sequence[Member], others: Collection[int] = ()) -> list[Verdict]:
    """What is seen in the processes of one job, the gravest first. Empty for a job in which nobody waits.

    ``others`` are ranks that have a process, of which is not known what it does: nothing is told of them.
    """
    mismatches = [verdict for group in _groups(members) for verdict in _mismatches(group, members)]
    waiting = [*_waiting_groups(members, others), *_waiting_pairs(members, others)]
    edges: dict[int, set[int]] = {}
    for wait in waiting:
        for caller in wait.callers:
            if caller.blocked:
                edges.setdefault(caller.pid, set()).update(
                    one.pid for one in wait.absent if one is not caller
                )
    found = [*_rings(edges, waiting, members), *mismatches]
    told = {pid for verdict in found for pid in verdict.pids}
    by_pid = {member.pid: member for member in members}
    roots = dict.fromkeys(
        one.pid for wait in waiting for one in wait.absent if not edges.get(one.pid) and one.pid not in told
    )
    found += [_absent(by_pid[pid], waiting) for pid in roots]
    gone = sorted(frozenset().union(*{wait.gone for wait in waiting}))  # most of them are the same set
    if gone:
        found.append(_gone(gone, [wait for wait in waiting if wait.gone], members))
    return found


def after_second_look(
    first: Sequence[Member],
    second: Sequence[Member],
    seconds: Mapping[int, float],
    others: Collection[int] = (),
) -> list[Verdict]:
    """The verdicts that were so at both looks: a job that goes on has none. It tells stragglers.

    ``seconds`` lie between both looks at a process, by its number. ``others``: see :func:`verdicts`.
    """
    before = {member.pid: member for member in first}
    now = {member.pid: member for member in second}
    found = []
    for verdict in verdicts(second, others):
        blamed = [
            now[pid] for pid in verdict.pids if verdict.kind == "absent" and now[pid].rank in verdict.ranks
        ][:1]
        waiting = [now[pid] for pid in verdict.pids if now[pid] not in blamed]
        if not all(
            member.pid in before and _stands_still(before[member.pid], member, seconds[member.pid])
            for member in waiting
        ):
            continue
        if not blamed:
            found.append(verdict)
        elif (was := before.get(blamed[0].pid)) is None:
            found.append(replace(verdict, text=f"{verdict.text}\nit was not there at the first look"))
        elif was.spins and blamed[0].spins and was.place == blamed[0].place:
            ago = seconds_in_words(seconds[was.pid])
            text = f"it was there {ago} before too: in the same wait, or in the next one of a loop"
            found.append(replace(verdict, text=f"{verdict.text}\n{text}"))
        elif line := _motion(was, blamed[0], seconds[was.pid]):
            found.append(replace(verdict, kind="straggler", text=f"{verdict.text}\n{line}"))
        else:
            line = f"it has not moved in {seconds_in_words(seconds[was.pid])}"
            found.append(replace(verdict, text=f"{verdict.text}\n{line}"))
    if not found:
        for members, verdict in _unfinished(second):
            pairs = [(before.get(member.pid), member) for member in members]
            if all(was is not None and _stands_still(was, one, seconds[one.pid]) for was, one in pairs):
                found.append(verdict)
    return found


def _unfinished(members: Sequence[Member]) -> Iterator[tuple[list[Member], Verdict]]:
    """Operations that all ranks of a group have called a while ago, and that are not done; with these ranks."""
    for group in _groups(members):
        those = [member for member in members if member.group(group) is not None]
        calls = [call for member in those if (call := member.call(group)) is not None]
        ages = [call.age for call in calls if call.age is not None and call.sequence is not None]
        facts = those[0].group(group) if those else None
        if facts is None or not facts.size == len(those) == len(ages) or min(ages) < _LONG:
            continue
        if len({(call.operation, call.sequence) for call in calls}) > 1:
            continue
        others = "the GPU, with what it was given before, or the network"
        lines = [
            f"{names_of(those)} have all called {described(calls[0])}, and it is not done: no rank is missing",
            f"the last of them called it {min(ages):.0f} s ago",
            f"what holds it up is {others if facts.backend == _BY_ITSELF else 'the network'}",
            *(f"{names_of(each)}: in {place}, {activity}" for (place, activity), each in _by_place(those)),
        ]
        pids = tuple(member.pid for member in those)
        yield those, Verdict("unfinished", ranks_of(those), None, "\n".join(lines), pids)


def _by_place(members: Sequence[Member]) -> list[tuple[tuple[str, str], list[Member]]]:
    found: dict[tuple[str, str], list[Member]] = {}
    for member in members:
        found.setdefault((member.place, member.activity), []).append(member)
    return [*found.items()]


def _motion(before: Member, now: Member, seconds: float) -> str | None:
    """That a rank has moved between two looks, in words; None where it has not."""
    used = now.cpu - before.cpu if now.cpu is not None and before.cpu is not None else 0.0
    has_moved, woken = before.stack != now.stack or used >= BUSY * seconds, 0
    if not has_moved and before.standing is not None and now.standing is not None:
        has_moved = not stands_still(before.standing, now.standing, seconds)
        woken = wakings(before.standing, now.standing)
    if not has_moved:
        return None
    was = "it is there still"
    if before.place != now.place:
        was = f"{seconds_in_words(seconds)} before it was in {before.place}"
    text = f"it moves, a straggler: {was}, and used {used:.2f} s of CPU time since"
    return text + (f", and woke {woken} times" if woken > 1 else ", and woke once" if woken else "")


def _stands_still(before: Member, now: Member, seconds: float) -> bool:
    """Whether a rank is in the same operations as before, and has begun no other one. Where no number tells the one
    from the next, a thread that was woken has gone on. So has one that is elsewhere, but for NCCL's operations: these
    go on while the program does something else, and who waits for a GPU spins."""
    was, one = before.standing, now.standing
    if before.stack != now.stack and not _goes_on_by_itself(now):
        return False
    if was is not None and one is not None and not _is_numbered(now) and was_woken(was, one, seconds):
        return False
    there = [(c.operation, c.group, c.sequence, c.peer) for c in before.distributed.collectives]
    here = [(c.operation, c.group, c.sequence, c.peer) for c in now.distributed.collectives]
    return there == here and before.distributed.groups == now.distributed.groups


def _goes_on_by_itself(member: Member) -> bool:
    """Whether the backend of all its operations works while the program goes on, and numbers tell these apart."""
    groups = [member.group(call.group) for call in member.distributed.collectives]
    return _is_numbered(member) and all(group is not None and group.backend == _BY_ITSELF for group in groups)


def _is_numbered(member: Member) -> bool:
    """Whether each of its operations has a number, or its group counts them."""
    calls = member.distributed.collectives
    groups = [member.group(call.group) for call in calls]
    return all(
        call.sequence is not None or (group is not None and group.sequence is not None)
        for call, group in zip(calls, groups, strict=True)
    )


def _groups(members: Sequence[Member]) -> list[str | None]:
    names = (call.group for member in members for call in member.distributed.collectives)
    return list(dict.fromkeys(names))


def _same(call: Collective) -> tuple[object, ...]:
    """What must be equal in every rank of the group."""
    if call.operation not in SAME_TENSORS or call.bytes is None:
        return (call.operation,)
    return call.operation, call.dtype, call.bytes


def _mismatches(group: str | None, members: Sequence[Member]) -> Iterator[Verdict]:
    """Calls with the same number in a group that are not the same operation, size or type."""
    if group is None:
        return
    by_number: dict[int, list[tuple[Member, Collective]]] = {}
    for member in members:
        for call in member.distributed.collectives:
            if call.group == group and call.sequence is not None and call.operation not in POINT_TO_POINT:
                by_number.setdefault(call.sequence, []).append((member, call))
    for calls in by_number.values():
        kinds: dict[tuple[object, ...], list[tuple[Member, Collective]]] = {}
        for member, call in calls:
            kinds.setdefault(_same(call), []).append((member, call))
        if len(kinds) < 2:
            continue
        parts = sorted(kinds.values(), key=len)
        lines = [
            f"{names_of([m for m, _ in parts[0]])} and {names_of([m for part in parts[1:] for m, _ in part])} "
            f"do not call the same in group {group}: {_difference(parts[0][0][1], parts[-1][0][1])}"
        ]
        lines += [
            f"{names_of([m for m, _ in part])}: {described(part[0][1])}, in {part[0][1].caller or part[0][0].place}"
            for part in parts
        ]
        yield Verdict(
            "mismatch",
            ranks_of([m for m, _ in parts[0]]),
            parts[0][0][0].place,
            "\n".join(lines),
            tuple(member.pid for part in parts for member, _ in part),
        )


def _difference(one: Collective, other: Collective) -> str:
    if one.operation != other.operation:
        return f"{one.operation} instead of {other.operation}"
    if one.dtype != other.dtype:
        return f"{one.operation} of {one.dtype} instead of {other.dtype}"
    return f"{one.operation} of {one.bytes} bytes instead of {other.bytes}"


def _waiting_groups(members: Sequence[Member], others: Collection[int]) -> Iterator[_Waiting]:
    gone = _without_process(members).difference(others)
    for group in _groups(members):
        by_call: dict[tuple[str, int | None], _Waiting] = {}
        for member in members:
            call = member.call(group)
            if call is not None:
                key = (call.operation, call.sequence)
                by_call.setdefault(key, _Waiting(call, [])).callers.append(member)
        for wait in by_call.values():
            callers = {member.pid for member in wait.callers}
            wait.absent = [one for one in members if one.pid not in callers and _has_not_come(one, wait.call)]
            wait.gone = gone if _is_of_all(wait, members) else frozenset()
            if wait.absent or wait.gone:
                yield wait


def _has_not_come(member: Member, call: Collective) -> bool:
    if call.operation in _START:
        started = bool(member.distributed.groups)
        return not (started and call.operation == "init_process_group") and not _calls(member, call.operation)
    if call.group is None:  # nothing is known but the frames
        return not _calls(member, call.operation)
    group = member.group(call.group)
    if group is None:
        return False
    if call.sequence is not None and group.sequence is not None:
        return group.sequence < call.sequence
    return not _calls(member, None, call.group)


def _calls(member: Member, operation: str | None, group: str | None = None) -> bool:
    return any(
        (operation is None or call.operation == operation) and (group is None or call.group == group)
        for call in member.distributed.collectives
    )


def _without_process(members: Sequence[Member]) -> frozenset[int]:
    """The ranks of the world that none of the processes has. The world may be as large as a file claims it to be."""
    there = {member.rank for member in members}
    return frozenset() if None in there else frozenset(range(_world(members))).difference(there)


def _is_of_all(wait: _Waiting, members: Sequence[Member]) -> bool:
    """Whether all ranks of the world should be in the operation. Those of a smaller group are not known by their
    numbers in the world."""
    if wait.call.group is None:
        return True
    group = wait.callers[0].group(wait.call.group)
    return group is not None and group.size == _world(members)


def _world(members: Sequence[Member]) -> int:
    return max((member.world_size or 0 for member in members), default=0)


def _waiting_pairs(members: Sequence[Member], others: Collection[int]) -> Iterator[_Waiting]:
    """A send without its recv, or a recv without its send."""
    by_rank = {member.rank: member for member in members if member.rank is not None}
    for member in members:
        for call in member.distributed.collectives:
            if call.operation not in POINT_TO_POINT or call.peer is None:
                continue
            other = by_rank.get(call.peer)
            if other is None and call.peer in others:
                continue
            if other is None:
                yield _Waiting(call, [member], gone=frozenset([call.peer]))
            elif not any(
                answer.operation != call.operation
                and answer.operation in POINT_TO_POINT
                and answer.group == call.group
                and answer.peer in (member.rank, None)
                for answer in other.distributed.collectives
            ):
                yield _Waiting(call, [member], absent=[other])


def _rings(
    edges: Mapping[int, set[int]], waiting: Sequence[_Waiting], members: Sequence[Member]
) -> Iterator[Verdict]:
    """Ranks that wait for each other, each ring once."""
    by_pid = {member.pid: member for member in members}
    done: set[int] = set()
    for start in edges:
        ring = _ring_from(start, edges, done)
        done.update(ring)
        if not ring:
            continue
        those = [by_pid[pid] for pid in ring]
        pairs = all(call.operation in POINT_TO_POINT for one in those for call in one.distributed.collectives)
        why = "no send and recv of theirs match" if pairs else "their operations are in different order"
        lines = [f"{names_of(those)} wait for each other, and none can go on: {why}"]
        for one, following in zip(those, [*those[1:], those[0]], strict=True):
            call = next(w.call for w in waiting if one in w.callers and following in w.absent)
            verb = "which" if call.operation not in POINT_TO_POINT else "to which"
            answer = "has not called" if verb == "which" else "has no matching call"
            target = "" if verb == "which" else f"; {following.name} {answer}"
            lines.append(
                f"{one.name} is in {described(call)}, in {call.caller or one.place}"
                + (f", which {following.name} {answer}" if verb == "which" else target)
            )
        yield Verdict(
            "order", ranks_of(those), those[0].place, "\n".join(lines), tuple(one.pid for one in those)
        )


def _ring_from(start: int, edges: Mapping[int, set[int]], done: set[int]) -> list[int]:
    """A ring that can be reached from ``start``, or nothing. Every process is visited once."""
    path: list[int] = []
    on_path: set[int] = set()
    seen: set[int] = set()
    stack: list[tuple[int, Iterator[int]]] = []

    def enter(pid: int) -> None:
        path.append(pid)
        on_path.add(pid)
        seen.add(pid)
        stack.append((pid, iter(sorted(edges.get(pid, ())))))

    if start in done:
        return []
    enter(start)
    while stack:
        following = next(stack[-1][1], None)
        if following is None:
            stack.pop()
            on_path.discard(path.pop())
        elif following in on_path:
            return path[path.index(following) :]
        elif following not in seen and following not in done:
            enter(following)
    return []


def _absent(member: Member, waiting: Sequence[_Waiting]) -> Verdict:
    waits = [wait for wait in waiting if member in wait.absent]
    first = waits[0]
    what = "the matching " + ("recv" if first.call.operation == "send" else "send")
    if first.call.operation not in POINT_TO_POINT:
        what = first.call.within or first.call.operation
    who = names_of(first.callers)
    verb = "wait" if len(first.callers) > 1 else "waits"
    lines = [
        f"{member.name} has not called {what}, for which {who} {verb}: it is in {member.place}, {member.activity}"
    ]
    lines += [f"it is still in {described(call)}" for call in member.distributed.collectives[:1]]
    lines += [_callers_line(wait) for wait in waits]
    lines += dict.fromkeys(_since(member, waits))
    pids = (member.pid, *(one.pid for wait in waits for one in wait.callers))
    return Verdict("absent", ranks_of([member]), member.place, "\n".join(lines), tuple(dict.fromkeys(pids)))


def _since(member: Member, waits: Sequence[_Waiting]) -> Iterator[str]:
    """For how long others wait, and what the rank they wait for did last in their group, as far as it was recorded."""
    for wait in waits:
        ages = [
            call.age
            for caller in wait.callers
            for call in caller.distributed.collectives
            if call.age is not None and (call.group, call.sequence) == (wait.call.group, wait.call.sequence)
        ]
        group = member.group(wait.call.group)
        if not ages or wait.call.sequence is None:
            continue
        text = f"the first of them called it {max(ages):.0f} s ago"
        if group is not None and group.last is not None and group.last.age is not None:
            last = group.last
            text += (
                f"; its own last one there was {last.operation} number {last.sequence}, {last.age:.0f} s ago"
            )
        yield text


def _callers_line(wait: _Waiting) -> str:
    who, first = names_of(wait.callers), wait.callers[0]
    are = "are" if len(wait.callers) > 1 else "is"
    return f"{who} {are} in {described(wait.call)}, {_called(first, wait.call)}"


def _called(member: Member, call: Collective) -> str:
    """Where a rank has called an operation, and where it is by now. What it has begun may go on without it."""
    called = f"called in {call.caller or member.place}"
    if call.thread is not None or call.caller in (None, member.place):
        return called
    return f"{called}; now in {member.place}, {member.activity}"


def _gone(ranks: Sequence[int], waits: Sequence[_Waiting], members: Sequence[Member]) -> Verdict:
    world = _world(members)
    several = len(ranks) > 1
    lines = [
        f"rank{'s' if several else ''} {ranges(list(ranks))} of {world} {'are' if several else 'is'} not among the "
        f"processes that were read: {'they have' if several else 'it has'} ended, or {'run' if several else 'runs'} "
        "elsewhere"
    ]
    lines += [_callers_line(wait) for wait in waits]
    pids = dict.fromkeys(one.pid for wait in waits for one in wait.callers)
    return Verdict("gone", tuple(ranks), None, "\n".join(lines), tuple(pids))
