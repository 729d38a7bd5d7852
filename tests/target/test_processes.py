"""Processes as the kernel shows them: real ones, started here."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.errors import TargetGone
from dualdbg.target import interpreter as interpreters
from dualdbg.target import processes
from tests import support

FAMILY = """
import os, subprocess, sys, time
inner = subprocess.Popen(["/bin/sh", "-c", "sleep 1000; true"])
print("ready pid=%d inner=%d" % (os.getpid(), inner.pid), flush=True)
time.sleep(1000)
"""


@pytest.fixture
def family() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True)
    yield process
    for each in processes.descendants(process.pid):
        os.kill(each.pid, signal.SIGKILL)
    process.kill()
    process.communicate()


def test_describe(family: subprocess.Popen[str]) -> None:
    support.read_ready(family)
    info = processes.describe(family.pid)
    assert (info.pid, info.parent, info.tracer) == (family.pid, os.getpid(), 0)
    assert info.command == (sys.executable, "-c", FAMILY)
    support.wait_until(lambda: processes.describe(family.pid).state == "sleeping", what="it sleeps")
    assert info.threads >= 1
    assert info.python is not None and "python" in info.python


def test_descendants_come_after_their_parents(family: subprocess.Popen[str]) -> None:
    inner = support.read_ready(family)["inner"][0]
    support.wait_until(lambda: len(processes.descendants(family.pid)) == 2, what="sleep has been started")
    shell, sleep = processes.descendants(family.pid)
    assert (shell.pid, shell.parent, sleep.parent) == (inner, family.pid, inner)
    assert shell.python is None and sleep.python is None and sleep.name == "sleep"


def test_python_processes_are_the_python_ones(family: subprocess.Popen[str]) -> None:
    inner = support.read_ready(family)["inner"][0]
    listed = [info.pid for info in processes.python_processes()]
    assert family.pid in listed and inner not in listed and os.getpid() not in listed
    assert family.pid in [info.pid for info in processes.python_processes(user=os.getuid())]
    assert family.pid not in [info.pid for info in processes.python_processes(user=os.getuid() + 1)]


def test_a_program_of_another_name_that_maps_libpython_is_python(tmp_path: Path) -> None:
    libpython = interpreters.inspect(sys.executable).libpython
    support.require(libpython, "an interpreter with a shared libpython", outside=True)
    shutil.copy(Path(sys.executable).resolve(), tmp_path / "embedder")
    env = {**os.environ, "PYTHONHOME": sys.base_prefix, "LD_LIBRARY_PATH": str(Path(str(libpython)).parent)}
    command = [str(tmp_path / "embedder"), "-c", "print('ready pid=0', flush=True); input()"]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        support.read_ready(process)
        found = processes.python_of(process.pid)
        process.communicate("\n")
    assert found is not None and Path(found).name.startswith("libpython3")


def test_a_zombie_and_nobody() -> None:
    process = subprocess.Popen(["true"])
    support.wait_until(lambda: processes.describe(process.pid).state == "zombie", what="it has ended")
    assert processes.describe(process.pid).command == ()
    process.wait()
    with pytest.raises(TargetGone):
        processes.describe(process.pid)
    assert processes.descendants(process.pid) == []
    assert processes.python_of(process.pid) is None
