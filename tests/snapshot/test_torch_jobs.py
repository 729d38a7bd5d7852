"""``stacks --diagnose`` of jobs of torch.distributed: the rank, its line and the reason; nothing for healthy ones."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.samples.test_hangs import hung
from tests.snapshot.test_command import dualdbg, seen
from tests.support import SAMPLES, require, wait_until

pytestmark = [pytest.mark.torch, pytest.mark.slow]
SOURCE = (SAMPLES / "hangs/torch_job.py").read_text().splitlines()


def line_of(text: str, after: str = "") -> int:
    """The number of the first line with ``text`` behind the one with ``after``."""
    start = next(number for number, line in enumerate(SOURCE) if after in line)
    return next(number for number, line in enumerate(SOURCE, 1) if number > start and text in line)


def verdict(pid: int, words: str) -> str:
    """The first finding, once it has these words: the ranks take a moment to reach their operations."""

    def told() -> str | None:
        _, findings = seen("--tree", str(pid))
        text: str = findings[0]["text"] if findings and findings[0]["kind"] == "collective" else ""
        return text if words in text else None

    return wait_until(told, 60, words)


@pytest.fixture(autouse=True)
def _needs_torch() -> None:
    require(importlib.util.find_spec("torch"), "PyTorch")


def test_a_rank_that_evaluates_is_a_straggler(tmp_path: Path) -> None:
    with hung("torch_job.py", "never_comes") as (process, ready):
        odd = ready["ranks"][2]
        text = verdict(process.pid, "it moves, a straggler")
        assert text.startswith(
            f"rank 2 (process {odd}) has not called all_reduce, for which ranks 0-1, 3 wait: it is in "
        )
        assert "evaluate (torch_job.py:" in text
        line = line_of(".backward()", "def never_comes")
        assert f"of group 0 (float32 [264]), called in never_comes (torch_job.py:{line})" in text
        ago = r"called it \d+ s ago; its own last one there was all_reduce number 11, \d+ s ago"
        assert re.search(ago, text), text
        expect_the_same_of_two_machines(ready["ranks"], tmp_path)


def expect_the_same_of_two_machines(pids: list[int], folder: Path) -> None:
    """Two ranks in each of two files: neither alone tells who it is."""
    files = []
    for name, those in (("a", pids[:2]), ("b", pids[2:])):
        done = dualdbg("stacks", *map(str, those), "--watch", "2", "--diagnose", "--packed")
        (folder / name).write_text(done.stdout)
        files.append(str(folder / name))
    text = dualdbg("job", "merge", *files).stdout
    odd = f"- rank 2 (process {pids[2]} on {files[1]}) has not called all_reduce, for which ranks 0-1, 3 wait"
    assert odd in text and "it moves, a straggler" in text and "each at its own time" in text


def test_ranks_that_wait_elsewhere_are_told_with_the_line_that_has_called_it() -> None:
    """The Flight Recorder keeps that line: a backend that works by itself leaves no frame of the operation."""
    with hung("torch_job.py", "ahead") as (process, _):
        text = verdict(process.pid, "rank 2 ")
        begun, sleeps = line_of("async_op=True", "def ahead"), line_of("time.sleep(60)", "def keep_waiting")
        called = f"(float32 [3, 5]), called in ahead (torch_job.py:{begun})"
        assert (
            f"ranks 0-1, 3 are in all_reduce number 2 of group 0 {called}; now in keep_waiting (torch_job.py:{sleeps})"
            in text
        )


@pytest.mark.parametrize(
    ("kind", "operation", "done"),
    [
        ("no_gather", "all_gather_into_tensor", "all_gather number 14 of group 0 (float32 [264]) for "),
        pytest.param(
            "no_gather_of_wrapped",
            "all_gather",
            "all_gather number 6 of group 0 (float32 [66])",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            "no_scatter",
            "reduce_scatter_tensor",
            "all_reduce number 18 of group 0 (float32 [264]) for ",
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_parameters_that_are_spread_over_the_ranks(kind: str, operation: str, done: str) -> None:
    """FSDP gathers them before they are used, and spreads the gradients again."""
    with hung("torch_job.py", kind) as (process, ready):
        text = verdict(process.pid, "it has not moved in ")
        odd = ready["ranks"][2]
        assert text.startswith(
            f"rank 2 (process {odd}) has not called {operation}, for which ranks 0-1, 3 wait"
        )
        assert f"it is in wait_for_ever (torch_job.py:{line_of('.wait()')})" in text
        done += operation if done.endswith(" for ") else ""
        line = line_of("torch.randn(16, 32)", f"def {kind}(")
        line = line if kind != "no_scatter" else line_of(".backward()", f"def {kind}(")
        assert f"ranks 0-1, 3 are in {done}, called in {kind} (torch_job.py:{line})" in text


@pytest.mark.exhaustive
def test_another_operation() -> None:
    with hung("torch_job.py", "other_operation") as (process, ready):
        text = verdict(process.pid, "barrier instead of all_reduce")
        line = line_of("dist.barrier()", "def other_operation")
        place = f"barrier number 2 of group 0, in other_operation (torch_job.py:{line})"
        assert f"rank 2 (process {ready['ranks'][2]}): {place}" in text


def test_two_groups_in_opposite_order() -> None:
    with hung("torch_job.py", "other_order") as (process, ready):
        text = verdict(
            process.pid, "wait for each other, and none can go on: their operations are in different order"
        )
        line = line_of("group=group)", "def other_order")
        assert f"rank 2 (process {ready['ranks'][2]}) is in all_reduce number 1 of group 2" in text
        assert text.count(f"in other_order (torch_job.py:{line})") == 2


@pytest.mark.exhaustive
def test_receivers_without_a_sender() -> None:
    with hung("torch_job.py", "no_matching_send") as (process, ready):
        text = verdict(process.pid, "ranks 0-3 wait for each other")
        line = line_of("dist.recv", "def no_matching_send")
        assert f"rank 1 (process {ready['ranks'][1]}) is in recv from rank 2 of group 0 (float32 [3])" in text
        assert text.count(f"in no_matching_send (torch_job.py:{line})") == 4


@pytest.mark.exhaustive
def test_a_rank_that_is_dead() -> None:
    with hung("torch_job.py", "rank_is_dead") as (process, _):
        text = verdict(process.pid, "rank 2 of 4 is not among the processes that were read")
        assert (
            f"called in rank_is_dead (torch_job.py:{line_of('dist.all_reduce', 'def rank_is_dead')})" in text
        )


def test_a_rank_that_does_not_start() -> None:
    with hung("torch_job.py", "no_start") as (process, ready):
        text = verdict(process.pid, "has not called init_process_group")
        assert text.startswith(f"rank 2 (process {ready['ranks'][2]}) ")
        assert f"it is in wait_for_ever (torch_job.py:{line_of('.wait()')})" in text
        assert "it has not moved in " in text


@pytest.mark.parametrize(
    "kind",
    [
        "healthy_training",
        *(
            pytest.param(kind, marks=pytest.mark.exhaustive)
            for kind in ("healthy_barriers", "healthy_pairs", "healthy_evaluation")
        ),
    ],
)
def test_healthy_jobs(kind: str) -> None:
    with hung("torch_job.py", kind) as (process, _):
        for _look in range(3):
            processes, findings = seen("--tree", str(process.pid))
            told: list[dict[str, Any]] = [each for each in findings if each["kind"] == "collective"]
            assert not told
            assert sum(len(one["groups"]) for one in processes.values() if "groups" in one) == 4
        done = dualdbg("job", "--via", "local", str(process.pid), "--json")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert [row["count"] for row in rows if row["event"] == "job"] == [4]
        assert [row["text"] for row in rows if row["event"] in ("verdict", "finding")] == []
