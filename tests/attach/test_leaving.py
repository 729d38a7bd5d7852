"""What a program that runs on meets while dualdbg leaves it: nothing."""

from __future__ import annotations

import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.attach.driver import attach, attached, tracer_of
from tests.dap.samples import line_of
from tests.support import other_interpreter, read_ready, wait_until

PROGRAM = Path(__file__).parent / "programs" / "in_a_callback.py"


@contextmanager
def staying(version: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [other_interpreter(version), PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            read_ready(process)
            yield process
            output, errors = process.communicate("x", timeout=patient(60))
        finally:
            process.kill()
    assert (process.returncode, output.splitlines()[-1], errors) == (0, "stayed None", "")


@pytest.mark.parametrize("version", rows.versions())
def test_a_thread_that_is_in_a_callback_of_pydevd(version: str) -> None:
    """It ends once the debugger has gone, and finds what it needs."""
    with staying(version) as process:
        done = attach(process.pid, "-b", "py:main_tick", "-x", "continue", "-x", "del 1")
        assert "Breakpoint 1: Python" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("version", rows.versions())
def test_a_thread_that_is_in_a_callback_of_pydevd_when_dualdbg_is_killed(version: str) -> None:
    """Its breakpoints are still set then. The callback takes pydevd's tool for events no second time."""
    with staying(version) as process:
        line = line_of(PROGRAM, "return number + 1")
        with attached(process.pid, "-b", f"{PROGRAM}:{line}", "-x", "continue") as session:
            assert process.stdout is not None
            assert process.stdout.readline() == "stays\n"
            session.kill()
        wait_until(lambda: tracer_of(process.pid) == 0, what="gdb has let go")
        wait_until(lambda: bool(select.select([process.stdout], [], [], 0)[0]), what="pydevd has left")
