"""dualdbg is root's, where only root can read it; the program has become another user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import support

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")

DROPS = """\
import os, time
os.setgroups([]); os.setgid(65534); os.setuid(65534)
print("ready", flush=True)
def step(i):
    return [i, "text", {"key": i}]
while True:
    step(5)
    time.sleep(0.01)
"""
SECONDS = patient(600)


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    """A folder with dualdbg and debugpy in it that other users cannot enter."""
    folder = tmp_path / "installation"
    folder.mkdir(mode=0o700)
    for name in ("dualdbg", "gdb_scripts"):
        shutil.copytree(
            support.ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("*.pyc.*")
        )
    debugpy = find_spec("debugpy")
    assert debugpy is not None and debugpy.origin is not None
    shutil.copytree(Path(debugpy.origin).parent, folder / "debugpy")
    return folder


@pytest.fixture
def program() -> Iterator[Path]:
    """In a folder that everybody may read, which pytest's are not."""
    path = Path("/tmp", f"dualdbg-test-{os.getpid()}", "drops.py")
    path.parent.mkdir(mode=0o755)
    path.write_text(DROPS)
    yield path
    shutil.rmtree(path.parent)


def python() -> str:
    return support.require(shutil.which("python3", path=os.defpath), "a Python that other users may run")


@contextmanager
def dualdbg(installation: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "dualdbg", *words],
        env={**os.environ, "PYTHONPATH": str(installation)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd="/",
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def test_a_launched_program_is_debugged_as_any_other(installation: Path, program: Path) -> None:
    commands = ("py os.getuid()", "print i", "py step(6)", "locals", "complete i", "next", "kill")
    words = [word for command in commands for word in ("-x", command)]
    asked = ("--python", python(), "-b", f"{program}:5", "--batch", *words, str(program))
    with dualdbg(installation, "run", *asked) as process:
        said, _ = process.communicate(timeout=SECONDS)
    assert "65534" in said and "[6, 'text', {'key': 6}]" in said and "i = 5" in said, said
    assert "Traceback" not in said and "did not answer" not in said, said


def test_an_attach_says_that_the_process_cannot_read_the_debugger(installation: Path, program: Path) -> None:
    with subprocess.Popen([python(), str(program)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            asked = ("--no-stacks", "--batch", "-b", f"{program}:5", "-x", "continue", str(process.pid))
            with dualdbg(installation, "attach", *asked) as debugger:
                assert debugger.stdout is not None
                too_late = threading.Timer(SECONDS, debugger.terminate)
                too_late.start()
                told = debugger.stdout.readline()
                while "not possible" not in told:
                    told = debugger.stdout.readline()
                    assert told, "it has ended and has not said it"
                too_late.cancel()
            assert process.poll() is None
        finally:
            process.kill()
    assert "of user 65534, cannot read" in told and "Permission denied" in told


CHOOSES = """\
import sys, time
def work():
    time.sleep(0.05)
print("ready", flush=True)
while True:
    work()
"""


def test_the_interpreter_of_another_user_s_process_is_not_asked(program: Path) -> None:
    """The process says itself which interpreter it is, and has its modules where it likes: both would run as root."""
    folder = program.parent
    traces = folder / "traces"
    traces.mkdir()
    traces.chmod(0o777)
    program.write_text(CHOOSES)
    leaves = f"open({str(traces)!r} + '/%s', 'w')\n"
    (folder / "beside.py").write_text(f"{leaves % 'module'}def here(): pass\n")
    chosen = folder / "chosen"
    chosen.write_text(f'#!/bin/sh\n: > {traces}/interpreter\nexec {python()} "$@"\n')
    chosen.chmod(0o755)
    with subprocess.Popen(
        [str(chosen), str(program)],
        executable=python(),
        user=65534,
        group=65534,
        extra_groups=[],
        stdout=subprocess.PIPE,
        cwd=folder,
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            names = ("py:nosuch.name", "py:beside.sin", "py:beside.here", "py:work")
            asked = [word for name in names for word in ("-b", name)]
            with dualdbg(
                support.ROOT, "attach", "--no-stacks", "--batch", *asked, str(process.pid)
            ) as debugger:
                assert debugger.stdout is not None
                too_late = threading.Timer(SECONDS, debugger.terminate)
                too_late.start()
                said = ""
                while not (said.endswith(f"{program.name}:2\n") and "(py:work)" in said):
                    line = debugger.stdout.readline()
                    assert line, said
                    said += line
                too_late.cancel()
            assert process.poll() is None
        finally:
            process.kill()
    assert list(traces.iterdir()) == []
    assert said.count("the process is user 65534's") == 2, said
    assert "(py:beside.here) waits for its code to be loaded" in said, said  # found without an interpreter
