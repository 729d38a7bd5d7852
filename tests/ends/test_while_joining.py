"""A session or a gdb that ends while processes join or the program starts: nothing stays, nothing odd is said."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import children_of, is_running, name_of, wait_until

from .front_ends import Started, command_line
from .test_while_starting import program_of, tracer_of

pytestmark = pytest.mark.processes

# Four Python processes, which all join at the same time.
FORKS = """\
import subprocess, sys, time
for _ in range(4):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
time.sleep(1000)
"""


@contextmanager
def joining(folder: Path, moment: str) -> Iterator[tuple[Started, int]]:
    """A batch at this moment, in which the children of a program join; and the program."""
    program = folder / "forks.py"
    program.write_text(FORKS)
    with command_line("--batch", "--follow=python")(program) as started:
        leader = wait_until(lambda: program_of(started.pid), 90, "the program")
        children = wait_until(lambda: children_of(leader), 90, "a child")
        if moment == "gdb holds it":
            wait_until(lambda: tracer_of(children[0].pid), 90, "gdb attaches to a child")
        yield started, leader


def nothing_odd(text: str) -> None:
    for words in (
        "Traceback",
        "never retrieved",
        "did not foresee",
        "CancelledError",
        "internal error",
        "None",
        "not known",
    ):
        assert words not in text, text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda one: one.name)
@pytest.mark.parametrize("moment", ["it is there", "gdb holds it"])
def test_the_session_ends_while_children_join(tmp_path: Path, moment: str, number: signal.Signals) -> None:
    with joining(tmp_path, moment) as (started, leader):
        descendants = children_of(leader)
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
@pytest.mark.parametrize("moment", ["it is there", "gdb holds it"])
def test_gdb_is_ended_while_children_join(
    tmp_path: Path, moment: str, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process ends with the first one's gdb, and how is known of each; nothing waits for an answer any more."""
    monkeypatch.setenv("DUALDBG_PATIENCE", "20")  # who waits for an answer all the same does not finish here
    with joining(tmp_path, moment) as (started, leader):
        os.kill(tracer_of(leader), number)
        text, status = started.finish()
    assert status == 3
    nothing_odd(text)
    # gdb 13 itself may fail at a child that is killed as it begins to run, and is told then.
    assert "gdb is gone" in text
    joined = text.count(" joined: ")
    assert text.count("The program was ended by SIGKILL") == 1 + joined, text


# debugpy traces by the first up to 3.11, by the second from 3.12 on.
WAITS_TO_JOIN = """\
import os, sys, time
begins = ("sys.settrace", "sys.monitoring.register_callback")
if os.environ.get("CHILD"):
    sys.addaudithook(lambda event, arguments: event in begins and time.sleep(1000))
"""
ONE_CHILD = """\
import os, subprocess, sys
print("child", subprocess.call([sys.executable, "-c", ""], env={**os.environ, "CHILD": "yes"}), flush=True)
"""


def test_a_child_whose_gdb_ends_while_it_joins_ends_and_the_rest_runs_on(tmp_path: Path) -> None:
    """gdb has let the child run, and the user's sitecustomize does not let debugpy begin in it."""
    program, log = tmp_path / "one_child.py", tmp_path / "log"
    program.write_text(ONE_CHILD)
    (tmp_path / "sitecustomize.py").write_text(WAITS_TO_JOIN)
    start = command_line("--batch", "--follow=python", f"--log-dir={log}")
    with start(program, env={"PYTHONPATH": str(tmp_path)}) as started:
        leader = wait_until(lambda: program_of(started.pid), 90, "the program")
        child = wait_until(lambda: children_of(leader), 90, "a child")[0].pid
        wait_until(lambda: "exec-continue" in text_of(log / "process-2" / "gdb.log"), 20, "gdb lets it run")
        os.kill(tracer_of(child), signal.SIGKILL)
        text, status = started.finish()
    assert status == 0, text
    nothing_odd(text)
    assert text.count("gdb is gone") == 1, text
    assert "[process 2] The program was ended by SIGKILL" in text
    assert "child -9" in text


def text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def gdb_of(dualdbg: int) -> int:
    return next((child.pid for child in children_of(dualdbg) if name_of(child) == "gdb"), 0)
