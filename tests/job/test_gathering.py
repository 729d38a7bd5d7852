"""Files of many machines become one job: what is a rank, what is missing, what could not be read."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dualdbg.plugins.job.gathering import Job, Seen
from dualdbg.plugins.job.gathering import gather as gather_sources
from dualdbg.plugins.job.json_form import job_to_json
from dualdbg.plugins.job.recorded import Source, is_launcher
from dualdbg.plugins.job.report import JobReport
from dualdbg.plugins.job.text import heading
from dualdbg.plugins.job.verdict import judge
from dualdbg.snapshot.linux.procfs import read_rank
from dualdbg.system.patience import patient
from tests import warm

from .test_verdict import row as rank_row

WORKER = """\
import sys, time
def evaluate():
    print("ready", flush=True)
    time.sleep(1000)
def train():
    print("ready", flush=True)
    sys.stdin.read()
evaluate() if sys.argv[1] == "2" else train()
"""


def gather(files: Iterable[Path], all_threads: bool = False) -> Job:
    return gather_sources([Source(str(path), path) for path in files], all_threads)


def frame(function: str, line: int = 1) -> dict[str, Any]:
    return {"kind": "python", "function": function, "file": "/job/train.py", "line": line, "number": 0}


def process(
    pid: int,
    rank: int | None,
    *functions: str,
    parent: int = 1,
    threads: int = 1,
    command: str = "python a.py",
) -> dict[str, Any]:
    stack = {"frames": [frame(one) for one in reversed(functions)]}
    idle = {"frames": [frame("idle")]}
    label = f"rank {rank}" if rank is not None else None
    return {
        "event": "process",
        "pid": pid,
        "parent": parent,
        "label": label,
        "command": command,
        "threads": [stack, *[idle] * (threads - 1)],
    }


def written(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    path = folder / name
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


def functions(job: Job) -> dict[str, set[int]]:
    """The innermost function of each stack, and the ranks that are there."""
    found: dict[str, set[int]] = {}
    waiting = list(job.root.children.items())
    while waiting:
        place, node = waiting.pop()
        if node.ends:
            found.setdefault(str(place.function), set()).update(node.ends)
        waiting += node.children.items()
    return found


def test_ranks_of_several_files_are_one_job(tmp_path: Path) -> None:
    one = written(tmp_path, "a.json", process(10, 0, "main", "wait"), process(11, 1, "main", "wait"))
    other = written(
        tmp_path, "b.json.gz", process(10, 2, "main", "evaluate", threads=3), process(11, 4, "main", "wait")
    )
    job = gather([one, other])
    assert functions(job) == {"wait": {0, 1, 4}, "evaluate": {2}}
    assert (job.missing, job.others, job.twice, job.is_numbered) == ("3", 0, set(), False)
    assert functions(gather([one, other], all_threads=True))["idle"] == {2}


def test_a_file_may_claim_any_rank(tmp_path: Path) -> None:
    rows = process(10, 2, "main"), process(11, 5, "main"), process(12, 9_999_999, "main")
    assert gather([written(tmp_path, "a", *rows)]).missing == "0-1, 3-4, 6-9999998"


def test_launchers_and_what_ranks_have_started_are_no_ranks(tmp_path: Path) -> None:
    rows = [process(5, None, "agent"), process(6, 0, "main", parent=5), process(7, 0, "loader", parent=6)]
    rows.append(process(8, 0, "helper", parent=7))
    job = gather([written(tmp_path, "a", *rows)])
    assert functions(job) == {"main": {0}} and job.others == 3 and not job.twice


def test_a_script_that_starts_the_rank_is_not_the_rank(tmp_path: Path) -> None:
    wrapper, tool = process(6, 0, "sh"), process(7, 0, "timeout", parent=6)
    python = {**process(8, 0, "main", parent=7), "python": "3.11.2"}
    loader = {**process(9, 0, "loader", parent=8), "python": "3.11.2"}
    job = gather([written(tmp_path, "a", loader, wrapper, tool, python)])
    assert functions(job) == {"main": {0}} and job.others == 3 and not job.twice


def test_a_launcher_that_was_given_a_rank_is_no_rank(tmp_path: Path) -> None:
    python = {"python": "3.11.2"}
    rows = [
        process(5, 0, "sh"),
        process(6, 0, "agent", parent=5) | python,
        process(7, 0, "main", parent=6) | python,
        process(8, 1, "main", parent=6) | python,
        process(9, 1, "loader", parent=8) | python,
        rank_row(0, 5, False, pid=6),
        rank_row(0, 5, True, pid=7),
        rank_row(1, 5, True, pid=8),
    ]
    job = gather([written(tmp_path, "a", *rows)])
    assert functions(job) == {"main": {0, 1}} and (job.others, job.twice) == (3, set())
    assert [row.now.pid for _, row in job.members] == [7, 8] and not judge(job).is_ambiguous


LOADER = "/venv/site-packages/torch/utils/data/_utils/worker.py"
STARTED = "/usr/lib/python3.11/multiprocessing/process.py"


def started(pid: int, rank: int, function: str, parent: int, file: str) -> dict[str, Any]:
    """What multiprocessing has started: in ``function`` of that file."""
    row = {**process(pid, rank, "<module>", parent=parent), "python": "3.11.2"}
    frames = [{**frame(function), "file": file}, {**frame("BaseProcess._bootstrap"), "file": STARTED}]
    row["threads"] = [{"frames": [*frames, frame("<module>")]}]
    return row


def test_what_a_rank_that_has_ended_has_left_is_no_rank(tmp_path: Path) -> None:
    """Its loaders, or its helpers, have another parent now, and its rank still."""
    for function, file, count in (
        ("_worker_loop", LOADER, 1),
        ("_worker_loop", LOADER, 2),
        ("help", "/a.py", 2),
    ):
        rows = [{**process(6, 0, "main"), "python": "3.11.2"}]
        rows += [started(7 + number, 1, function, 1, file) for number in range(count)]
        rows.append(rank_row(0, 5, True, pid=6) | {"world_size": 2})
        rows.append(rank_row(1, 5, False, pid=7) | {"world_size": 2})
        job = gather([written(tmp_path, "a", *rows)])
        assert functions(job) == {"main": {0}} and job.missing == "1" and not job.twice
        assert job.others == count and [row.now.pid for _, row in job.members] == [6]


def test_ranks_that_multiprocessing_has_started_are_ranks(tmp_path: Path) -> None:
    rows = [started(7 + rank, rank, "train", 5, "/a.py") for rank in range(3)]
    assert functions(gather([written(tmp_path, "a", *rows)])) == {"train": {0, 1, 2}}


def test_the_same_rank_from_two_files_is_told(tmp_path: Path) -> None:
    files = [written(tmp_path, name, process(10, 0, "main"), process(11, 1, "main")) for name in "ab"]
    assert gather(files).twice == {0, 1}


def test_processes_that_tell_no_rank_are_numbered(tmp_path: Path) -> None:
    files = [written(tmp_path, name, process(10, None, name), process(11, None, name)) for name in "ab"]
    job = gather(files)
    assert job.is_numbered and functions(job) == {"a": {0, 1}, "b": {2, 3}} and not job.missing


TORCHRUN = "/venv/bin/python3.11 /venv/bin/torchrun --nproc-per-node 4 train.py"


def test_a_launcher_whose_ranks_have_not_begun_is_no_rank(tmp_path: Path) -> None:
    rows = (
        process(9, None, "main", command="sh run.sh"),
        process(10, None, "main", parent=9, command=TORCHRUN),
    )
    file = written(tmp_path, "a", *rows)
    job = gather([file])
    assert (job.ranks, job.others, job.is_numbered) == (set(), 2, False)
    assert job.launchers == [f"process 10 of {file}"]
    job = gather([written(tmp_path, "b", *rows, process(11, None, "main", parent=10))])
    assert (job.ranks, job.others, job.is_numbered) == ({0}, 2, True)


def test_ranks_that_have_not_begun_are_missing(tmp_path: Path) -> None:
    told = {**rank_row(1, 0, False, pid=10), "world_size": 4}
    rows = process(5, None, "main", command=TORCHRUN), process(10, 1, "main", parent=5), told
    job = gather([written(tmp_path, "a", *rows)])
    assert (job.ranks, job.missing, job.world_size, job.launchers) == ({1}, "0, 2-3", 4, [])
    assert heading(JobReport(job, judge(job))) == "1 rank of 4 in 1 file"


@pytest.mark.parametrize(
    ("command", "starts_ranks"),
    [
        (TORCHRUN, True),
        ("python3 -u -m torch.distributed.run --nnodes 2 train.py", True),
        ("/usr/bin/mpirun -n 4 python train.py", True),
        ("python -X dev /venv/bin/torchrun train.py", True),
        ("python train.py torchrun", False),
        ("python -c import torchrun", False),
        ("python -m train torch.distributed.run", False),
        ("python -m", False),
        ("torchrunner", False),
        ("", False),
    ],
)
def test_launchers_are_told_by_their_command_line(command: str, starts_ranks: bool) -> None:
    assert is_launcher(command) is starts_ranks


def test_what_cannot_be_read_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    good = written(
        tmp_path,
        "good",
        process(10, 0, "main"),
        {"event": "error", "pid": 12, "message": "it is traced already", "hint": ""},
        {"event": "finding", "kind": "gil", "text": "two threads wait"},
        {"event": "movement"},
    )
    bad = written(tmp_path, "bad", process(13, 1, "main"), {"event": "process"})
    job = gather([tmp_path / "nothing", bad, good])
    assert job.ranks == {0, 1}
    assert [one for one in job.failures if "good: process 12: it is traced already" in one.text]
    assert [one for one in job.failures if str(bad) in one.text and "line 2" in one.text]
    assert [one for one in job.failures if str(tmp_path / "nothing") in one.text] and len(job.failures) == 3
    assert (job.files, job.unread) == (3, 1)
    report = JobReport(job, judge(job))
    assert heading(report) == "2 ranks in 2 of 3 files"
    assert (job_to_json(report)[0]["answered"], job_to_json(report)[0]["sources"]) == (2, 3)
    assert job.findings == [Seen(str(good), "two threads wait")]


def dualdbg(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return warm.run([sys.executable, "-m", "dualdbg", *words], input=stdin, timeout=patient(120))


@pytest.mark.smoke
def test_a_job_of_real_processes_from_two_files(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(WORKER)
    running = []
    try:
        for rank in range(4):
            command = [sys.executable, str(program), str(rank)]
            env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "4"}
            running.append(subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        for each in running:
            assert each.stdout is not None and each.stdout.readline() == b"ready\n"
        texts = [
            dualdbg("stacks", "--json", *(str(one.pid) for one in half)).stdout
            for half in (running[:2], running[2:])
        ]
    finally:
        for each in running:
            each.send_signal(signal.SIGKILL)
            each.communicate()
    packed = tmp_path / "first.gz"
    packed.write_bytes(gzip.compress(texts[0]))
    done = dualdbg("job", "merge", str(packed), "-", stdin=texts[1])
    assert done.returncode == 0 and not done.stderr, done
    lines = [line.strip() for line in done.stdout.decode().splitlines()]
    assert lines[0] == "4 ranks in 2 files"
    assert lines[2:4] == ["4 ranks: 0-3", "<module> train.py:8"]
    odd, others = lines.index("1 rank: 2"), lines.index("3 ranks: 0-1,3")
    assert odd < others
    assert lines[odd + 1] == "evaluate train.py:4" and lines[others + 1] == "train train.py:7"


@pytest.mark.smoke
def test_nothing_to_show_is_an_error(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    done = dualdbg("job", "merge", str(empty))
    assert done.returncode == 3 and b"dualdbg stacks --tree PID --json" in done.stderr
    assert dualdbg("job", "merge").returncode == 2
    assert dualdbg("job", "nothing", str(empty)).returncode == 2


def test_the_rank_is_what_the_launcher_gave() -> None:
    for env, rank in [
        ({"RANK": "3", "OMPI_COMM_WORLD_RANK": "1"}, (3, None)),
        ({"OMPI_COMM_WORLD_RANK": "12", "OMPI_COMM_WORLD_SIZE": "16"}, (12, 16)),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, (0, 2)),
        ({"RANK": "-1", "PMI_RANK": "7"}, (7, None)),
        ({"RANK": "9" * 5000}, (None, None)),
        ({"SLURM_PROCID": "1"}, (None, None)),
    ]:
        with subprocess.Popen(
            ["cat"], env={"PATH": os.environ["PATH"], **env}, stdin=-1, stdout=-1
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(b"x\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"x\n"  # it runs cat by now
            assert read_rank(process.pid) == rank, env
            process.kill()
