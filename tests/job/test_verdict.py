"""Who holds up a job over several machines: pure."""

from __future__ import annotations

from typing import Any

import pytest

from dualdbg.plugins.job.gathering import Job
from dualdbg.plugins.job.recorded_ranks import recorded_rank
from dualdbg.plugins.job.verdict import Looks, judge

SIZE = 4


def row(
    rank: int, sequence: int, waits: bool, at: str = "step", time: float = 100.0, pid: int = 7
) -> dict[str, Any]:
    """A rank of a job, as ``stacks --json`` writes it."""
    call = {"operation": "all_reduce", "group": "0", "sequence": sequence, "state": "running"}
    return {
        "event": "rank",
        "pid": pid,
        "time": time,
        "rank": rank,
        "world_size": SIZE,
        "place": at,
        "activity": "running",
        "blocked": waits,
        "stack": at,
        "cpu": 1.0,
        "groups": [{"name": "0", "rank": rank, "size": SIZE, "backend": "gloo", "sequence": sequence}],
        "collectives": [call] if waits else [],
        "earlier": None,
    }


def job(*rows: dict[str, Any]) -> Job:
    """Each rank on a machine of its own, where all have the same process id."""
    return Job(members=[(f"node{each['rank']}", recorded_rank(each)) for each in rows])


def hang(time: float = 100.0) -> list[dict[str, Any]]:
    return [
        row(0, 5, True, time=time),
        row(1, 5, True, time=time),
        row(2, 4, False, "save", time),
        row(3, 5, True, time=time),
    ]


def test_a_rank_of_another_machine_never_came() -> None:
    found = judge(job(*hang(103.4)), job(*hang(100.0)), 1.0)
    (verdict,) = found.verdicts
    assert (verdict.kind, verdict.ranks, found.looks) == ("absent", (2,), Looks.TWO_TOGETHER)
    assert verdict.text.splitlines() == [
        "rank 2 (process 7 on node2) has not called all_reduce, for which ranks 0-1, 3 wait: it is in save, running",
        "ranks 0-1, 3 are in all_reduce number 5 of group 0, called in step",
        "it has not moved in 3.4 s",
    ]


def test_a_job_that_goes_on_has_no_verdict() -> None:
    later = [row(0, 6, True), row(1, 6, True), row(2, 5, False, "save"), row(3, 6, True)]
    assert judge(job(*later), job(*hang())).verdicts == ()
    assert judge(job(*later)).looks is Looks.ONE and judge(job(*later)).verdicts


def test_files_of_two_looks() -> None:
    rows = [{**each, "earlier": {**each, "seconds": 1.0}} for each in hang()]
    found = judge(job(*rows))
    assert found.looks is Looks.TWO and "has not moved in 1 s" in found.verdicts[0].text
    assert judge(job(rows[0], *hang()[1:])).looks is Looks.ONE


def test_a_rank_of_a_node_that_has_not_answered() -> None:
    there = [each for each in hang() if each["rank"] != 2]
    (verdict,) = judge(job(*there), unheard=1).verdicts
    assert (verdict.kind, verdict.ranks) == ("gone", (2,))
    assert verdict.text.endswith("one node has not answered: that is where to look first")


def test_a_rank_without_a_record_is_not_gone() -> None:
    there = job(*[each for each in hang() if each["rank"] < 2])
    assert judge(there).others == frozenset()
    there.root.ranks = {0, 1, 2}
    found = judge(there)
    assert [(each.kind, each.ranks) for each in found.verdicts] == [("gone", (3,))] and found.others == {2}
    there.root.ranks = {0, 1, 2, 3}
    assert (judge(there).verdicts, judge(there).others) == ((), {2, 3})
    there.is_numbered = True  # as they came: these are no ranks
    assert [each.ranks for each in judge(there).verdicts] == [(2, 3)]


def test_a_rank_is_timed_by_its_own_clock() -> None:
    first, second = hang(100.0), hang(101.0)
    first[2].update(time=900.0)
    second[2].update(time=1002.0, cpu=1.1)
    (verdict,) = judge(job(*second), job(*first), 1.0).verdicts
    assert verdict.kind == "absent" and verdict.text.endswith("it has not moved in 102 s")
    rows = [{**each, "earlier": {**each, "seconds": 1.0 + each["rank"]}} for each in hang()]
    assert "has not moved in 3 s" in judge(job(*rows)).verdicts[0].text


def test_two_jobs_have_no_verdict() -> None:
    found = judge(job(*hang(), {**row(2, 1, True), "pid": 8}))
    assert found.is_ambiguous and not found.verdicts


@pytest.mark.parametrize("field", ["stack", "collectives", "groups"])
def test_who_moved_between_the_looks_does_not_wait(field: str) -> None:
    rows = hang()
    for each in rows:
        if each["blocked"]:
            each[field] = "elsewhere" if field == "stack" else []
    assert judge(job(*hang()), job(*rows), 1.0).verdicts == ()
