"""Our frames are gdb's own frames: the same return addresses, thread by thread."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from dualdbg.snapshot.capture import capture
from dualdbg.snapshot.report.assemble import Assembler
from tests.snapshot.programs_running import running
from tests.snapshot.reference import gdb_stacks
from tests.support import wait_until


def compare(pid: int) -> int:
    """Of a process that is frozen where it happens to be: the number of frames that were compared."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: "T" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2], what="stopped")
    try:
        return _compare(pid)
    finally:
        os.kill(pid, signal.SIGCONT)


def _compare(pid: int) -> int:
    captured = capture(pid)
    unwinder = Assembler(captured).unwinder
    ours = {tid: [f.pc for f in unwinder.unwind(regs).frames] for tid, regs in captured.registers.items()}
    theirs = gdb_stacks(pid)
    assert ours.keys() == theirs.keys()
    for tid, frames in theirs.items():
        named = [f"{pc:#x} {name}" for pc, name in frames]
        assert ours[tid] == [pc for pc, _ in frames], "\n".join(named)
    return sum(map(len, ours.values()))


def test_every_kind_of_stack(native_samples: Path) -> None:
    with running("many_stacks.py", PYTHONPATH=str(native_samples)) as pid:
        assert compare(pid) > 100


def test_any_instruction() -> None:
    """A busy program, several times."""
    with running("busy.py") as pid:
        for _ in range(5):
            assert compare(pid) > 10


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.exhaustive  # test_torch_jobs.py looks into its threads too
def test_autograd_and_parallel_threads() -> None:
    with running("autograd.py") as pid:
        assert compare(pid) > 50
