"""The verdicts over the records of a job's processes: pure."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

from dualdbg.snapshot.facts import Collective, Distributed, ProcessGroup
from dualdbg.snapshot.report.collectives import Member, after_second_look, verdicts
from dualdbg.snapshot.report.standing import Standing

SIZES = 4


def member(
    rank: int, *calls: Collective, sequence: int | None = 5, groups: int = 1, at: str = "step"
) -> Member:
    known = tuple(ProcessGroup(str(number), rank, SIZES, "gloo", sequence) for number in range(groups))
    place = f"{at} (train.py:{10 + rank})"
    found = Distributed(rank, SIZES, known, calls)
    return Member(
        100 + rank, f"rank {rank}", rank, SIZES, place, "running", found, bool(calls), (place, calls), 1.0
    )


def reduce(
    sequence: int | None = 5,
    group: str = "0",
    bytes: int = 8,
    dtype: str = "float32",
    operation: str = "all_reduce",
) -> Collective:
    return Collective(operation, group, sequence, "running", (bytes // 4,), dtype, bytes, thread=1)


def told(*members: Member) -> list[tuple[str, tuple[int, ...], str | None]]:
    return [(verdict.kind, verdict.ranks, verdict.place) for verdict in verdicts(members)]


def test_a_rank_that_has_not_called_it() -> None:
    inside = [member(rank, reduce()) for rank in (0, 1, 3)]
    assert told(*inside, member(2, sequence=4, at="load")) == [("absent", (2,), "load (train.py:12)")]


def test_a_rank_that_is_through_already_is_not_to_blame() -> None:
    source = member(0, sequence=5)
    others = [member(rank, reduce(operation="broadcast")) for rank in (1, 2, 3)]
    assert told(source, *others) == []


def test_sizes_and_types() -> None:
    same = [member(rank, reduce()) for rank in (0, 1, 2)]
    assert told(*same, member(3, reduce(bytes=16))) == [("mismatch", (3,), "step (train.py:13)")]
    (verdict,) = verdicts([*same, member(3, reduce(dtype="int32"))])
    assert "all_reduce of int32 instead of float32" in verdict.text
    assert told(*same, member(3, reduce())) == []
    gathers = [member(rank, reduce(operation="gather", bytes=8 * rank)) for rank in range(SIZES)]
    assert told(*gathers) == []  # only the root has tensors to gather into


def test_one_rank_is_behind() -> None:
    ahead = [member(rank, reduce(6), sequence=6) for rank in (0, 1, 2)]
    (verdict,) = verdicts([*ahead, member(3, reduce(5), sequence=5)])
    assert (verdict.kind, verdict.ranks) == ("absent", (3,))
    assert "it is still in all_reduce number 5 of group 0" in verdict.text
    absent = [member(rank, reduce(6), sequence=6) for rank in (0, 1, 2)]
    assert told(*absent, member(3, sequence=5, at="save")) == [("absent", (3,), "save (train.py:13)")]


def test_a_send_and_its_recv() -> None:
    send, recv = Collective("send", "0", peer=1, thread=1), Collective("recv", "0", peer=0, thread=1)
    rest = [member(2), member(3)]
    assert told(member(0, send), member(1, recv), *rest) == []
    assert told(member(0, send), member(1, at="read"), *rest) == [("absent", (1,), "read (train.py:11)")]
    (verdict,) = verdicts([member(0, replace(recv, peer=1)), member(1, recv), *rest])
    assert (verdict.kind, sorted(verdict.ranks)) == ("order", [0, 1])


def test_without_numbers_the_frames_tell() -> None:
    inside = [member(rank, reduce(None), sequence=None) for rank in (0, 1, 2)]
    assert told(*inside, member(3, sequence=None, at="save")) == [("absent", (3,), "save (train.py:13)")]


def test_a_rank_without_a_process() -> None:
    (verdict,) = verdicts([member(rank, reduce()) for rank in (0, 1, 3)])
    assert (verdict.kind, verdict.ranks) == ("gone", (2,))


def test_a_job_that_goes_on_has_no_verdict() -> None:
    def look(number: int) -> list[Member]:
        return [
            *(member(rank, reduce(number), sequence=number) for rank in (0, 1, 2)),
            member(3, sequence=number - 1),
        ]

    seconds = {member.pid: 1.0 for member in look(5)}
    assert after_second_look(look(5), look(6), seconds) == []
    (hang,) = after_second_look(look(5), look(5), seconds)
    assert hang.kind == "absent"
    assert hang.text.endswith("it has not moved in 1 s")
    *waiting, odd = look(5)
    (straggler,) = after_second_look(look(5), [*waiting, replace(odd, cpu=1.9)], seconds)
    assert straggler.kind == "straggler"
    assert "used 0.90 s of CPU time" in straggler.text
    at = Standing(odd.pid, odd.pid, "ab", "read(0x3)", 0.0, 40, 2, 1.0)
    for sleeps, words in ((42, "it has not moved in 1 s"), (43, "and woke once"), (139, "and woke 97 times")):
        looks = [[*waiting, replace(odd, standing=replace(at, sleeps=n))] for n in (40, sleeps)]
        (told,) = after_second_look(*looks, seconds)
        assert told.text.endswith(words)
        assert told.kind == ("absent" if sleeps == 42 else "straggler")
    (started,) = after_second_look(waiting, [*waiting, odd], seconds)
    assert started.kind == "absent" and started.text.endswith("it was not there at the first look")


def test_of_a_rank_that_is_not_known_nothing_is_told() -> None:
    inside = [member(rank, reduce()) for rank in (0, 1)]
    assert told(*inside) == [("gone", (2, 3), None)]
    assert [verdict.ranks for verdict in verdicts(inside, others={2})] == [(3,)]
    assert verdicts(inside, others={2, 3}) == []
    recv = Collective("recv", "0", peer=2, thread=1)
    assert [verdict.ranks for verdict in verdicts([member(0, recv)])] == [(2,)]
    assert verdicts([member(0, recv)], others={2}) == []


def test_what_a_file_claims_of_the_world_costs_once_and_not_for_each_group() -> None:
    names = [str(number) for number in range(300)]
    groups = tuple(ProcessGroup(name, 0, 1 << 14, "gloo", 5) for name in names)
    found = Distributed(0, 1 << 14, groups, tuple(reduce(group=name) for name in names))
    one = replace(member(0), world_size=1 << 14, distributed=found, blocked=True)
    tracemalloc.start()
    try:
        (verdict,) = verdicts([one])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (verdict.kind, len(verdict.ranks)) == ("gone", (1 << 14) - 1)
    assert peak < 20_000_000, peak  # bytes; a list of ranks for each group is 40 MB, without the numbers


def of_nccl(rank: int, age: float, number: int = 5) -> Member:
    call = Collective("all_reduce", "0", number, "queued", age=age, caller="step (train.py:7)")
    one = member(rank, call, sequence=number, at="log")
    groups = tuple(replace(group, backend="nccl") for group in one.distributed.groups)
    activity = "waits for the GPU (cudaStreamSynchronize)"
    return replace(one, activity=activity, distributed=replace(one.distributed, groups=groups))


def test_a_rank_that_has_begun_an_operation_of_nccl_may_be_anywhere() -> None:
    """It goes on by itself, and who waits for a GPU spins: the thread is elsewhere in the driver at each look."""

    def look(at: str, backend: str = "nccl") -> list[Member]:
        found = [replace(of_nccl(rank, 5.0), stack=at) for rank in (0, 1, 3)]
        groups = (ProcessGroup("0", 0, SIZES, backend, 5),)
        return [
            *(replace(one, distributed=replace(one.distributed, groups=groups)) for one in found),
            member(2, sequence=4, at="load"),
        ]

    seconds = {member.pid: 1.0 for member in look("a")}
    (verdict,) = after_second_look(look("a"), look("b"), seconds)
    assert (verdict.kind, verdict.ranks) == ("absent", (2,))
    assert after_second_look(look("a", "gloo"), look("b", "gloo"), seconds) == []


def test_a_rank_that_spins_is_no_straggler() -> None:
    """Its thread has used a processor all the time, and has not moved for all that is known."""
    waiting = [of_nccl(rank, 5.0) for rank in (0, 1, 3)]
    odd = replace(member(2, sequence=4, at="ring"), spins=True)
    seconds = {each.pid: 1.0 for each in [*waiting, odd]}
    (verdict,) = after_second_look([*waiting, odd], [*waiting, replace(odd, cpu=2.0)], seconds)
    assert verdict.kind == "absent"
    assert verdict.text.endswith(
        "it was there 1 s before too: in the same wait, or in the next one of a loop"
    )


def test_what_all_ranks_have_called_and_is_not_done() -> None:
    seconds = {100 + rank: 1.0 for rank in range(SIZES)}
    look = [of_nccl(rank, 30.0 + rank) for rank in range(SIZES)]
    (verdict,) = after_second_look(look, look, seconds)
    assert (verdict.kind, verdict.ranks) == ("unfinished", (0, 1, 2, 3))
    first, last, why, *_ = verdict.text.splitlines()
    assert (
        first
        == "ranks 0-3 have all called all_reduce number 5 of group 0, and it is not done: no rank is missing"
    )
    assert last == "the last of them called it 30 s ago"
    assert why == "what holds it up is the GPU, with what it was given before, or the network"
    for other in (of_nccl(3, 2.0), of_nccl(3, 30.0, number=4), member(3)):
        second = [*look[:3], other]
        assert not [each for each in after_second_look(second, second, seconds) if each.kind == "unfinished"]
    assert after_second_look([of_nccl(rank, 30.0, number=4) for rank in range(SIZES)], look, seconds) == []


def test_where_an_operation_was_called_and_where_the_rank_is_now() -> None:
    (verdict,) = verdicts([*(of_nccl(rank, 30.0) for rank in (0, 1, 3)), member(2, sequence=4, at="load")])
    line = "ranks 0-1, 3 are in all_reduce number 5 of group 0, called in step (train.py:7); now in log (train.py:10), "
    assert line + "waits for the GPU (cudaStreamSynchronize)" in verdict.text
