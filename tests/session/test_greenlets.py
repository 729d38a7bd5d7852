"""Greenlets share the stack of their thread: a stack is that of the one that runs, in a session and from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.driver import dualdbg
from tests.support import read_ready

# One waits in the middle of its calls, and was started where the stack has other calls now; the other one runs.
PROGRAM = """\
import os, sys, time
import greenlet
def deeper(depth, call):
    return deeper(depth - 1, call) if depth else call()
def waits():
    main.switch()
def runs():
    os.getppid()
    here = 1
    print(f"ready pid={os.getpid()}", flush=True)
    sys.stdin.read()
main = greenlet.getcurrent()
waiting = greenlet.greenlet(waits)
running = greenlet.greenlet(runs)
deeper(5, waiting.switch)
deeper(2, running.switch)
"""
OUTERMOST = "g_initialstub"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    pytest.importorskip("greenlet")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_a_stack_ends_where_the_greenlet_begins(program: Path) -> None:
    done = dualdbg(
        *("run", "--batch", "--json", "-b", "getppid", "-b", f"{program.name}:9"),
        *("-x", "bt", "-x", "continue", "-x", "bt"),
        program,
        cwd=program.parent,
    )
    native, python = done.of("stack")
    for stack in (native, python):
        functions = [frame["function"] for frame in stack["frames"] if frame["kind"] == "python"]
        assert functions == ["runs"]
        assert OUTERMOST in stack["frames"][-1]["function"]
        assert stack["quality"] == "full", stack["note"]
        assert "greenlet" in stack["origin"]


def test_from_outside(program: Path) -> None:
    with subprocess.Popen(
        [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        [pid] = read_ready(process)["pid"]
        done = dualdbg("stacks", str(pid), "--json")
        process.kill()
    [thread] = json.loads(done.stdout.splitlines()[0])["threads"]
    names = [frame["function"] for frame in thread["frames"]]
    assert "runs" in names and "deeper" not in names and OUTERMOST in names[-1]
