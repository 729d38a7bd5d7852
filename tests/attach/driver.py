"""Programs in every state, and dualdbg attach on them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dualdbg.system.patience import patient
from tests import warm
from tests.cli.driver import DUALDBG, environment
from tests.support import build_native, read_ready

PROGRAM = Path(__file__).parent / "programs" / "states.py"


@contextmanager
def in_state(
    kind: str, python: str | Path = sys.executable, seconds: float = 0.0
) -> Iterator[subprocess.Popen[str]]:
    """The program, standing in the state ``kind``; a byte on its input frees it, and it works for ``seconds`` then.

    That is time for a debugger to come, so that the patience counts for it.
    """
    path = str(build_native(python)) if kind.startswith("native") else ""
    with subprocess.Popen(
        [str(python), str(PROGRAM), kind, str(patient(seconds))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        try:
            read_ready(process)
            yield process
        finally:
            process.kill()


def attach(pid: int, *words: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [*DUALDBG, "attach", str(pid), "--no-stacks", "--batch", *words],
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=patient(60),
        env=environment(),
    )


@contextmanager
def attached(pid: int, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A dualdbg that attaches and runs commands, beside the test."""
    with warm.Popen(
        [*DUALDBG, "attach", str(pid), "--no-stacks", "--batch", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
    ) as session:
        try:
            yield session
        except BaseException:
            session.kill()  # it may wait for what the test has not done
            raise


def tracer_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("TracerPid")).split()[1])


def is_traced_by_gdb(pid: int) -> bool:
    """Before gdb attaches, dualdbg itself tries for a moment whether that is allowed."""
    try:
        return Path(f"/proc/{tracer_of(pid)}/comm").read_text() == "gdb\n"
    except FileNotFoundError:  # nobody's, or of a moment ago
        return False


def answer_of(process: subprocess.Popen[str]) -> str:
    """What the program says of itself once it is freed."""
    output, _ = process.communicate("x", timeout=patient(120))
    assert process.returncode == 0
    return output


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def traps_in(pid: int) -> int:
    from dualdbg.snapshot.linux.repair import find_traps

    return len(find_traps(pid))
