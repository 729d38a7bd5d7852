"""The hanging samples: each reaches its state, says so, and leaves nothing behind when it ends.

Those with PyTorch are in tests/snapshot/test_command.py and test_torch_jobs.py, which look at them from outside.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from dualdbg.system.patience import patient
from tests.support import SAMPLES, is_running, read_ready, wait_until


@contextmanager
def hung(script: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, list[int]]]]:
    """A started sample and the numbers of its line "ready"; ended again afterwards, and its children end with it."""
    command = [sys.executable, str(SAMPLES / "hangs" / script), "--limit", "300", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            ready = read_ready(process)
            yield process, ready
        finally:
            process.kill()
        all_end([pid for name in ("ranks", "worker", "child") for pid in ready.get(name, [])])


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
