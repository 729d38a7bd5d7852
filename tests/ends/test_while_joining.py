"""A session or a gdb that ends while processes join or the program starts: nothing stays, nothing odd is said."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.support import is_running, wait_until

from .front_ends import command_line
from .test_while_starting import program_of, tracer_of

pytestmark = pytest.mark.processes

# Four Python processes, which all join at the same time.
FORKS = """\
import subprocess, sys, time
for _ in range(4):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
time.sleep(1000)
"""


def nothing_odd(text: str) -> None:
    for words in ("Traceback", "never retrieved", "did not foresee", "CancelledError", "internal error"):
        assert words not in text, text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda one: one.name)
@pytest.mark.parametrize("moment", ["it is there", "gdb holds it"])
def test_the_session_ends_while_children_join(tmp_path: Path, moment: str, number: signal.Signals) -> None:
    program = tmp_path / "forks.py"
    program.write_text(FORKS)
    with command_line("--batch", "--follow=python")(program) as started:
        leader = wait_until(lambda: program_of(started.pid), 90, "the program")
        children = wait_until(lambda: psutil.Process(leader).children(), 90, "a child")
        if moment == "gdb holds it":
            wait_until(lambda: tracer_of(children[0].pid), 90, "gdb attaches to a child")
        descendants = psutil.Process(leader).children()
        os.kill(started.pid, number)
        text, status = started.finish()
        wait_until(lambda: not any(is_running(one.pid) for one in descendants), 20, "the end of the children")
    assert status == (-number if number == signal.SIGKILL else 128 + number)
    nothing_odd(text)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
@pytest.mark.parametrize("follow", [(), ("--follow=python",)], ids=["alone", "follow"])
@pytest.mark.parametrize("moment", ["it is there", "it holds the program"])
def test_gdb_is_ended_while_the_program_starts(
    tmp_path: Path, moment: str, follow: tuple[str, ...], number: signal.Signals
) -> None:
    program = tmp_path / "waits.py"
    program.write_text("import time\ntime.sleep(1000)\n")
    with command_line("--batch", *follow)(program) as started:
        gdb = wait_until(lambda: gdb_of(started.pid), 90, "gdb")
        pid = wait_until(lambda: program_of(started.pid), 90, "the program")
        if moment == "it holds the program":
            wait_until(lambda: tracer_of(pid), 90, "gdb attaches")
        os.kill(gdb, number)
        text, status = started.finish()
    assert status == 3
    nothing_odd(text)
    assert text.count("gdb is gone") == 1, text


def gdb_of(dualdbg: int) -> int:
    return next((child.pid for child in psutil.Process(dualdbg).children() if child.name() == "gdb"), 0)
