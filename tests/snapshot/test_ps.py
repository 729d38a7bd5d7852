"""``dualdbg ps``: which Python processes there are; and the processes that a tree or a pattern means."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from dualdbg.errors import TargetGone
from dualdbg.snapshot.linux.targets import find_targets
from dualdbg.target import interpreter as interpreters
from tests.cli.driver import json_run
from tests.snapshot.programs_running import running
from tests.snapshot.test_command import dualdbg
from tests.support import read_ready, require, wait_until

FAMILY = """
import os, subprocess, sys
inner = subprocess.Popen(["/bin/sh", "-c", "sleep 1000; true"], stdin=subprocess.DEVNULL)
print("ready pid=%d inner=%d" % (os.getpid(), inner.pid), flush=True)
sys.stdin.read()
for child in __import__("psutil").Process().children(recursive=True):
    child.kill()
"""


def listed() -> dict[int, dict[str, Any]]:
    return {row["pid"]: row for row in map(json.loads, dualdbg("ps", "--json").stdout.splitlines())}


def test_a_process_is_listed() -> None:
    started = time.monotonic()
    with running("busy.py") as pid:
        row = listed()[pid]
        assert row["threads"] == 2
        assert row["can"] == ["stacks", "attach"]
        assert row["refusal"] is None
        assert not row["torch"]
        assert "busy.py" in row["command"]
        assert (row["parent"], row["uid"]) == (os.getpid(), os.geteuid())
        assert row["state"] in "RS"
        assert row["python"] == "{}.{}".format(*sys.version_info)
        assert 0 < row["cpu"] < 10
        assert 0 < row["seconds"] <= time.monotonic() - started + 0.1  # it is told in tenths
        table = dualdbg("ps").stdout
        assert any(line.split()[0] == str(pid) for line in table.splitlines())


def test_no_process_is_traced_for_the_list(tmp_path: Path) -> None:
    """It has one tracer at a time: whoever looks at it just then would be refused."""
    strace = require(shutil.which("strace"), "strace")
    calls = tmp_path / "calls"
    words = [sys.executable, "-m", "dualdbg", "ps", "--json"]
    with running("busy.py") as pid:
        command = [strace, "-f", "-qq", "-e", "trace=ptrace", "-o", str(calls), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        (row,) = [row for row in map(json.loads, done.stdout.splitlines()) if row["pid"] == pid]
        assert row["can"] == ["stacks", "attach"]
    assert "SEIZE" not in calls.read_text()


def test_what_helps_a_session_is_not_listed() -> None:
    """gdb has Python in it, and the program's parent is one."""
    with json_run("--stop-on-entry", "-c", "pass") as run:
        stopped = run.next("stopped")
        family = {process.pid for process in run.family()} - {run.process.pid}
        assert run.gdb().pid in family and len(family) > 2
        assert family & listed().keys() == {stopped["thread"]["tid"]}


@pytest.mark.parametrize("name", ["sleep", "python-sleeper"])
def test_other_programs_are_not(name: str, tmp_path: Path) -> None:
    program = shutil.copy(shutil.which("sleep") or "", tmp_path / name)
    with subprocess.Popen([program, "60"]) as process:
        try:
            assert process.pid not in listed()
        finally:
            process.kill()


def test_a_zombie_is_not() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    wait_until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE, what="it has ended")
    assert process.pid not in listed()
    process.wait()


def test_a_program_of_another_name_that_maps_libpython_is(tmp_path: Path) -> None:
    libpython = interpreters.inspect(sys.executable).libpython
    require(libpython, "an interpreter with a shared libpython", outside=True)
    shutil.copy(Path(sys.executable).resolve(), tmp_path / "embedder")
    env = {**os.environ, "PYTHONHOME": sys.base_prefix, "LD_LIBRARY_PATH": str(Path(str(libpython)).parent)}
    command = [str(tmp_path / "embedder"), "-c", "print('ready pid=0', flush=True); input()"]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        read_ready(process)
        assert listed()[process.pid]["python"] == "{}.{}".format(*sys.version_info)
        process.communicate("\n")


def test_a_tree_is_a_process_and_its_descendants() -> None:
    command = [sys.executable, "-c", FAMILY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        (shell,) = read_ready(process)["inner"]

        def last() -> list[str]:
            return [psutil.Process(pid).name() for pid in find_targets([], [process.pid])[2:]]

        wait_until(lambda: last() == ["sleep"], what="sleep has been started")  # a shell until then
        found = find_targets([str(shell)], [process.pid])
        assert found[:2] == [process.pid, shell]
        assert psutil.Process(found[2]).name() == "sleep"
        process.communicate()
    with pytest.raises(TargetGone, match=f"there is no process {process.pid}"):
        find_targets([], [process.pid])
