"""A signal ends a session soon, also where somebody has stopped its helpers and its program (SIGSTOP)."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests import rows
from tests.support import is_running, wait_until

from .front_ends import EVERY, Started
from .test_descendants import FAMILY, all_end, family_in

pytestmark = [pytest.mark.processes, pytest.mark.slow]

# It takes a fraction of a second. A helper that is waited for in vain takes ten: that is the keeper's own limit.
SOON = 8.0
STARTS = ["batch", "dap, terminal", "follow", "dap", "dap, noDebug in a terminal", "dashboard"]


def helpers_of(dualdbg: int, program: int) -> list[psutil.Process]:
    """All that descends from dualdbg, and the parents of the program: an editor's terminal is not below dualdbg."""
    helpers = psutil.Process(dualdbg).children(recursive=True)
    for parent in psutil.Process(program).parents():
        if parent.pid in (dualdbg, os.getpid()):
            break
        helpers.append(parent)
    return helpers


@pytest.mark.parametrize("name", rows.some(STARTS, 3))
def test_all_helpers_are_stopped(name: str, tmp_path: Path) -> None:
    start: Callable[..., Started] = EVERY[name]
    with start(FAMILY, str(tmp_path / "family"), "stay") as started:
        family = family_in(tmp_path / "family")
        for helper in helpers_of(started.pid, family["program"]):
            helper.send_signal(signal.SIGSTOP)
        os.kill(started.pid, signal.SIGTERM)
        wait_until(lambda: not is_running(started.pid), SOON, "the end of dualdbg")
        all_end(family)


def test_the_end_of_the_program_is_told_by_a_keeper_that_was_stopped(tmp_path: Path) -> None:
    with EVERY["batch"](FAMILY, str(tmp_path / "family"), "stay") as started:
        family = family_in(tmp_path / "family")
        psutil.Process(family["program"]).parent().send_signal(signal.SIGSTOP)
        os.kill(family["program"], signal.SIGKILL)
        wait_until(lambda: not is_running(started.pid), SOON, "the end of dualdbg")
        assert "SIGKILL" in started.finish()[0]
        all_end(family)
