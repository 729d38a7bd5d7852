"""Helpers that somebody has stopped go on, and one that has ended is left to whoever waits for it."""

from __future__ import annotations

import os
import signal
import subprocess

from dualdbg.system.waking import wake
from tests.support import wait_until


def state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_a_helper_that_was_stopped_goes_on() -> None:
    with subprocess.Popen(["sleep", "1000"]) as helper:
        helper.send_signal(signal.SIGSTOP)
        wait_until(lambda: state(helper.pid) == "T", 60, "the stop")
        wake(helper)
        wait_until(lambda: state(helper.pid) == "S", 60, "the helper")
        helper.kill()


def test_one_that_has_just_ended_is_not_reaped() -> None:
    helper = subprocess.Popen(["sh", "-c", "exit 7"])
    wait_until(lambda: state(helper.pid) == "Z", 60, "the end")
    wake(helper)
    assert os.waitstatus_to_exitcode(os.waitpid(helper.pid, 0)[1]) == 7
    helper.returncode = 7
    wake(helper)  # reaped: nothing
