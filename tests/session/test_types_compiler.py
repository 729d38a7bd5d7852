"""A PyTorch whose types are not known: the session goes on while they are compiled, and shows values when they are."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.driver import JsonRun
from tests.support import is_running, require, wait_until

pytestmark = [pytest.mark.torch]

PROGRAM = """\
import torch
def call(value):
    return torch.relu(value)
for number in range(9):
    call(torch.tensor([1.5, -2.0]))
"""
WAITS = """\
#!/bin/sh
echo $$ > {folder}/pid.new && mv {folder}/pid.new {folder}/pid
while [ ! -e {folder}/go ]; do sleep 0.05; done
{then}
"""
FAILS = "echo 'types.cpp:1:1: error: out of luck' >&2; exit 1"


class Rig:
    """A session at a breakpoint in PyTorch, with no other layouts than those of a compiler that waits."""

    def __init__(self, folder: Path, cache: Path, then: str) -> None:
        self.folder = folder
        compiler = folder / "compiler"
        compiler.write_text(WAITS.format(folder=folder, then=then))
        compiler.chmod(0o755)
        (folder / "program.py").write_text(PROGRAM)
        self.run = JsonRun(
            *("-b", "at::native::relu", "--python", sys.executable, "program.py"),
            cwd=folder,
            env={"XDG_CACHE_HOME": str(cache)},
        )
        self.stopped()
        self.run.send("gdb set dualdbg layouts types-object")
        self.run.send(f"gdb set dualdbg compiler {compiler}")

    def stopped(self) -> None:
        self.run.next("stopped")

    def argument(self) -> str:
        """What is shown as the argument of the function."""
        self.run.send("info args")
        (row,) = self.run.next("variables")["variables"]
        return str(row["value"])

    def compiler(self) -> int:
        """The process id of the compiler that runs."""
        return int(wait_until(lambda: (self.folder / "pid").exists() and (self.folder / "pid").read_text()))

    def go(self) -> None:
        (self.folder / "go").touch()

    def notice(self, text: str) -> dict[str, Any]:
        while text not in (event := self.run.next("notice"))["message"]:
            pass
        return event


def test_the_session_goes_on_and_says_why_it_failed(tmp_path: Path) -> None:
    rig = Rig(tmp_path, tmp_path / "cache", FAILS)
    assert "is being compiled (" in rig.argument()
    compiler = rig.compiler()
    assert rig.run.next("progress")["what"].startswith("compiling the types of PyTorch")
    for command in ("finish", "continue", "finish"):
        rig.run.send(command)
        rig.stopped()
    rig.run.send("continue")
    rig.stopped()
    assert is_running(compiler)
    assert "is being compiled (" in rig.argument()
    rig.go()
    assert "out of luck" in rig.notice("could not be compiled")["message"]
    assert "out of luck" in rig.argument()
    rig.run.send("quit")
    rig.run.finish()


def test_the_compiler_ends_with_the_session(tmp_path: Path) -> None:
    rig = Rig(tmp_path, tmp_path / "cache", FAILS)
    rig.argument()
    compiler = rig.compiler()
    rig.run.send("quit")
    rig.run.finish()
    assert not is_running(compiler)


def test_the_compiler_ends_where_the_session_is_killed(tmp_path: Path) -> None:
    rig = Rig(tmp_path, tmp_path / "cache", FAILS)
    rig.argument()
    compiler = rig.compiler()
    rig.run.process.kill()
    wait_until(lambda: not is_running(compiler), what="the compiler has ended")


@pytest.mark.slow
def test_values_are_shown_when_the_types_are_there(tmp_path: Path) -> None:
    """By the real compiler, of the real headers. The next session finds them."""
    real = require(shutil.which("g++"), "a C++ compiler")
    rig = Rig(tmp_path, tmp_path / "cache", f'exec {real} "$@"')
    assert "is being compiled (" in rig.argument()
    rig.go()
    rig.notice("are compiled (")
    assert rig.argument() == "float32 [2] cpu"
    rig.run.send("quit")
    rig.run.finish()
    (tmp_path / "pid").unlink()
    again = Rig(tmp_path, tmp_path / "cache", FAILS)
    assert again.argument() == "float32 [2] cpu"
    again.run.send("quit")
    again.run.finish()
    assert not (tmp_path / "pid").exists()
