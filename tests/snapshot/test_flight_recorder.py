"""What c10d's Flight Recorder says of process groups: pure. tests/snapshot/test_torch_jobs.py reads a real one."""

from __future__ import annotations

from dataclasses import replace

from dualdbg.snapshot.cpython.flight_recorder import Recorded, with_recorded
from dualdbg.snapshot.facts import Collective, ProcessGroup
from dualdbg.snapshot.report.collectives import verdicts

from .test_collectives import member, reduce

NOW = 1000.0
GROUP = ProcessGroup("0", 1, 4, "nccl")


def row(
    sequence: int,
    operation: str = "all_reduce",
    retired: bool = False,
    number: int = 0,
    backend: str = "nccl",
) -> Recorded:
    return Recorded(
        "0", backend, operation, number or sequence, sequence, NOW - 20 + sequence, retired, False
    )


def of_gloo(sequence: int, operation: str = "all_reduce", number: int = 0) -> Recorded:
    return row(sequence, operation, number=number, backend="gloo")


def test_a_backend_whose_queue_is_not_known() -> None:
    rows = [row(7), row(6, "broadcast"), row(5, retired=True)]
    group, works = with_recorded(GROUP, (), rows, NOW)
    assert [(work.operation, work.sequence, work.age) for work in works] == [
        ("broadcast", 6, 14.0),
        ("all_reduce", 7, 13.0),
    ]
    assert group.sequence == 7 and group.last is not None and group.last.sequence == 7


def test_operations_that_began_as_one_have_one_number() -> None:
    rows = [row(7, "broadcast", number=9), row(7, "all_reduce", number=8), row(6)]
    _, works = with_recorded(GROUP, (), rows, NOW)
    assert [work.sequence for work in works] == [6]


def test_what_is_between_two_ranks_is_no_collective_of_the_group() -> None:
    send = replace(row(3, "send"), is_between_two=True, peer=2)
    group, works = with_recorded(GROUP, (), [send, replace(send, sequence=2, is_retired=True)], NOW)
    assert group == GROUP
    assert [(work.operation, work.sequence, work.peer) for work in works] == [("send", 3, 2)]
    begun_as_one = replace(send, operation="coalesced", peer=None)
    assert with_recorded(GROUP, (), [begun_as_one], NOW) == (GROUP, [])


def test_gloos_own_queue_says_what_is_not_done() -> None:
    """The recorder numbers collectives alone; gloo counts a send too."""
    gloo = replace(GROUP, backend="gloo", sequence=9)
    work = Collective("all_reduce", "0", 9, "running")
    group, works = with_recorded(gloo, [work], [of_gloo(5, number=9), of_gloo(4, number=8)], NOW)
    assert [(one.sequence, one.age) for one in works] == [(9, 15.0)]
    assert group.sequence == 9 and group.last is not None and group.last.sequence == 9
    assert with_recorded(gloo, [work], [of_gloo(5, "broadcast", number=9)], NOW)[1] == [work]  # another one
    assert with_recorded(gloo, [work], [row(9)], NOW) == (
        gloo,
        [work],
    )  # of the same group, on another device


def test_for_how_long_others_wait() -> None:
    inside = [member(rank, replace(reduce(), age=40.0 + rank)) for rank in (0, 1, 3)]
    odd = member(2, sequence=4, at="load")
    last = replace(odd.distributed.groups[0], last=replace(reduce(4), age=55.0))
    odd = replace(odd, distributed=replace(odd.distributed, groups=(last,)))
    (verdict,) = verdicts([*inside, odd])
    line = "the first of them called it 43 s ago; its own last one there was all_reduce number 4, 55 s ago"
    assert verdict.text.endswith(line)


def test_the_clock_was_set_back() -> None:
    _, works = with_recorded(GROUP, (), [row(7)], NOW - 100)
    assert works[0].age == 0.0
