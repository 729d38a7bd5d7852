"""A PyTorch whose types are not known: the session goes on while they are compiled, and shows values when they are."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.driver import JsonRun
from tests.support import ROOT, is_running, require, wait_until

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


def waiting_compiler(path: Path, folder: Path, then: str) -> Path:
    """A program that notes in ``folder`` that it runs, and waits there for a word before it does ``then``."""
    path.write_text(WAITS.format(folder=folder, then=then))
    path.chmod(0o755)
    return path


class Rig:
    """A session at a breakpoint in PyTorch, and the compiler in its folder."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder = folder
        (folder / "program.py").write_text(PROGRAM)
        words = ("-b", "at::native::relu", "--python", sys.executable, "program.py")
        self.run = JsonRun(*words, cwd=folder, env=env)
        self.stopped()

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

    def compile_by(self, compiler: str, then: str = FAILS) -> None:
        """From now on by another compiler, from which alone layouts come, and which waits."""
        for mark in ("pid", "go"):
            (self.folder / mark).unlink(missing_ok=True)
        self.run.send("gdb set dualdbg layouts types-object")
        self.run.send(f"gdb set dualdbg compiler {waiting_compiler(Path(compiler), self.folder, then)}")
        assert "is being compiled (" in self.argument()
        assert is_running(self.compiler())

    def notice(self, text: str) -> dict[str, Any]:
        while text not in (event := self.run.next("notice"))["message"]:
            pass
        return event


def unknown(folder: Path, tables: str, then: str | None) -> Rig:
    """A session by a dualdbg that has these layout tables, but none of this PyTorch; ``then``: what g++ does there."""
    own, programs = folder / "own", folder / "bin"
    for name in ("dualdbg", "gdb_scripts"):
        shutil.copytree(ROOT / name, own / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for path in (own / "gdb_scripts" / "dualdbg_helpers" / "layout" / "tables").iterdir():
        if path.match("torch-2.13.*") or not path.match(tables):
            path.unlink()
    programs.mkdir()
    for name in ("gdb", "sh", "mv", "sleep"):
        (programs / name).symlink_to(require(shutil.which(name), name))
    if then is not None:
        waiting_compiler(programs / "g++", folder, then)
    return Rig(
        folder, {"PYTHONPATH": f"{own}", "PATH": f"{programs}", "XDG_CACHE_HOME": f"{folder / 'cache'}"}
    )


def test_where_no_table_fits_the_types_are_compiled_beside_the_session(tmp_path: Path) -> None:
    """Nothing is set or asked for: the first value has it done. The session goes on, and says why it failed."""
    rig = unknown(tmp_path, "torch-2.12.*", FAILS)
    assert "is being compiled (" in rig.argument()
    assert rig.run.next("progress")["what"].startswith("compiling the types of PyTorch")
    compiler = rig.compiler()
    for command in ("finish", "continue", "finish", "continue"):
        rig.run.send(command)
        rig.stopped()
    assert is_running(compiler)
    assert "is being compiled (" in rig.argument()
    rig.go()
    assert "out of luck" in rig.notice("could not be compiled")["message"]
    assert "out of luck" in rig.argument()

    rig.run.send("gdb set dualdbg compiler no-such-compiler")
    said = rig.argument()
    assert "does not fit this process" in said
    assert "no compiler 'no-such-compiler'" in said

    rig.compile_by(f"{tmp_path / 'another'}")
    rig.run.send("quit")
    rig.run.finish()
    assert not is_running(rig.compiler()), "the compiler ends with the session"


def test_without_a_compiler_a_table_that_fits_the_running_library_is_used(tmp_path: Path) -> None:
    rig = unknown(tmp_path, "torch-*.json", None)
    assert rig.argument() == "float32 [2] cpu"
    rig.run.send("quit")
    rig.run.finish()
    assert not [event for event in rig.run.seen if event["event"] == "progress"]


@pytest.mark.slow
def test_values_are_shown_when_the_types_are_there(tmp_path: Path) -> None:
    """By the real compiler, of the real headers. The next session finds them; where it is killed, its compiler ends."""
    real = require(shutil.which("g++"), "a C++ compiler")
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    rig = Rig(tmp_path, env)
    rig.compile_by(f"{tmp_path / 'compiler'}", f'exec {real} "$@"')
    rig.go()
    rig.notice("are compiled (")
    assert rig.argument() == "float32 [2] cpu"
    rig.run.send("quit")
    rig.run.finish()

    again = Rig(tmp_path, env)
    (tmp_path / "pid").unlink()
    again.run.send("gdb set dualdbg layouts types-object")
    again.run.send(f"gdb set dualdbg compiler {tmp_path / 'compiler'}")
    assert again.argument() == "float32 [2] cpu"
    assert not (tmp_path / "pid").exists()
    again.compile_by(f"{tmp_path / 'another'}")
    compiler = again.compiler()
    again.run.process.kill()
    wait_until(lambda: not is_running(compiler), what="the compiler has ended")
