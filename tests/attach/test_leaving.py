"""What a program that runs on meets while dualdbg leaves it: nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import rows
from tests.attach.test_attach import attach
from tests.support import other_interpreter, read_ready

PROGRAM = Path(__file__).parent / "programs" / "in_a_callback.py"


@pytest.mark.parametrize("version", rows.versions())
@pytest.mark.parametrize("calls", rows.some([2, 3], 1))
def test_a_thread_that_is_in_a_callback_of_pydevd(version: str, calls: int) -> None:
    """It ends once the debugger has gone, and finds what it needs."""
    with subprocess.Popen(
        [other_interpreter(version), PROGRAM, str(calls)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            read_ready(process)
            done = attach(process.pid, "-b", "py:main_tick", "-x", "continue", "-x", "del 1")
            assert "Breakpoint 1: Python" in done.stdout, done.stdout + done.stderr
            output, errors = process.communicate("x", timeout=60)
        finally:
            process.kill()
    assert (process.returncode, output, errors) == (0, "stayed\n", "")
