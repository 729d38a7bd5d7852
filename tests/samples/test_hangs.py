"""The hanging samples: each reaches its state, says so, and leaves nothing behind when it ends."""

from __future__ import annotations

import importlib.util
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from dualdbg.patience import patient
from tests.support import SAMPLES, is_running, read_ready, require, wait_until


@contextmanager
def hung(script: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, list[int]]]]:
    """A started sample and the numbers of its line "ready"; ended again afterwards."""
    command = [sys.executable, str(SAMPLES / "hangs" / script), "--limit", "300", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            yield process, read_ready(process)
        finally:
            process.kill()


def thread_states(pid: int) -> list[tuple[str, str]]:
    """Name and state letter of each thread, main thread first; see proc(5), ``/proc/pid/task/tid/stat``."""
    states = []
    for task in sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda task: int(task.name)):
        try:
            text = (task / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):  # it has ended since
            continue
        end = text.rindex(")")
        states.append((text[text.index("(") + 1 : end], text[end + 2]))
    return states


def all_end(pids: list[int]) -> None:
    wait_until(lambda: not any(is_running(pid) for pid in pids), 60, f"{pids} end with their parent")


def test_gil_deadlock(native_samples: Path) -> None:
    with hung("gil_deadlock.py") as (process, ready):
        assert ready == {"pid": [process.pid]}

        def only_the_deadlocked_are_left() -> bool:
            """The announcer ends after its line; the two that wait for each other stay, and sleep."""
            states = thread_states(process.pid)
            return [state for _, state in states] == ["S", "S"] and states[1][0] == "item-worker"

        wait_until(only_the_deadlocked_are_left, what="only the deadlocked threads are left")


def test_the_kernel_ends_a_deadlock_at_its_limit(native_samples: Path) -> None:
    command = [sys.executable, str(SAMPLES / "hangs/gil_deadlock.py"), "--limit", "1"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(60)
    )
    assert done.returncode == -signal.SIGALRM


@pytest.mark.parametrize("kind", ["native", "python"])
def test_fork_with_lock(kind: str, native_samples: Path) -> None:
    with hung("fork_with_lock.py", kind) as (process, ready):
        (child,) = ready["child"]
        assert psutil.Process(child).ppid() == process.pid
        assert len(thread_states(process.pid)) == 2  # the one that forked, and the holder
        alone = "the child's only thread sleeps: the holder is not there"
        wait_until(lambda: [state for _name, state in thread_states(child)] == ["S"], what=alone)
    all_end([child])


@pytest.mark.torch
@pytest.mark.slow
def test_gloo_collective() -> None:
    require(importlib.util.find_spec("torch"), "PyTorch")
    with hung("gloo_collective.py") as (process, ready):
        ranks = ready["ranks"]
        assert len(ranks) == 4
        assert {psutil.Process(rank).ppid() for rank in ranks} == {process.pid}
        wait_until(
            lambda: {psutil.Process(rank).status() for rank in ranks} == {psutil.STATUS_SLEEPING},
            what="all ranks wait",
        )
    all_end(ranks)


@pytest.mark.torch
@pytest.mark.slow
def test_dataloader_hang() -> None:
    require(importlib.util.find_spec("torch"), "PyTorch")
    with hung("dataloader_hang.py") as (process, ready):
        (worker,) = ready["worker"]
        workers = [child.pid for child in psutil.Process(process.pid).children()]
        assert len(workers) == 2
        assert worker in workers
        assert psutil.Process(worker).status() == psutil.STATUS_SLEEPING
        assert psutil.Process(process.pid).status() == psutil.STATUS_SLEEPING
    all_end(workers)


@pytest.mark.torch
@pytest.mark.slow
def test_worker_segfault(torch_extension: Path) -> None:
    with hung("worker_segfault.py") as (process, ready):
        (worker,) = ready["worker"]
        assert is_running(worker)  # it crashes only when told
        _output, errors = process.communicate("go\n", timeout=patient(60))
    assert "Unexpected segmentation fault" in errors
    # PyTorch's words, by whether its SIGCHLD handler or its queue's time limit sees the death first
    assert re.search(rf"\(pid(\(s\))? {worker}\) (exited unexpectedly|is killed by signal)", errors)
    assert process.returncode == 1
    all_end([worker])
