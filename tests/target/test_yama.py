"""Each command under each of Yama's scopes, as root and as nobody: what passes, and what a refusal says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import support

from . import yama

ROOT = 0
TICKS = Path(__file__).with_name("ticks.py")


@dataclass(frozen=True)
class Outcome:
    """The exit status, and what standard error has; with ``quiet`` that is all it has."""

    status: int
    errors: tuple[str, ...] = ()
    quiet: bool = False


PASSES = Outcome(0, quiet=True)
ASK = "--fix-ptrace"
ONLY_PARENTS = Outcome(
    3, ("ptrace_scope is 1: only a parent may trace", ASK, "sysctl kernel.yama.ptrace_scope=0")
)
ONLY_CAPABLE = Outcome(3, ("ptrace_scope is 2: only a process with CAP_SYS_PTRACE", ASK, "sudo dualdbg"))
RUN_WITH_ONE = Outcome(3, ("ptrace_scope is 2", "ptrace_scope=1 is enough", "sudo dualdbg"))
NOBODY_MAY = Outcome(3, ("ptrace_scope is 3", "until a reboot", "/etc/sysctl.d"))


def lowered(scope: int) -> Outcome:
    return Outcome(0, (f"kernel.yama.ptrace_scope is {scope}. It is set to 0", f"then to {scope} again"))


NAMES = ("run", "stacks", "stacks --fix-ptrace", "attach", "attach --fix-ptrace", "core")
TABLE = {
    (0, ROOT): (PASSES, PASSES, PASSES, PASSES, PASSES, PASSES),
    (0, yama.NOBODY): (PASSES, PASSES, PASSES, PASSES, PASSES, PASSES),
    (1, ROOT): (PASSES, PASSES, PASSES, PASSES, PASSES, PASSES),
    (1, yama.NOBODY): (PASSES, ONLY_PARENTS, lowered(1), ONLY_PARENTS, lowered(1), PASSES),
    (2, ROOT): (PASSES, PASSES, PASSES, PASSES, PASSES, PASSES),
    (2, yama.NOBODY): (RUN_WITH_ONE, ONLY_CAPABLE, lowered(2), ONLY_CAPABLE, lowered(2), PASSES),
    (3, ROOT): (NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, PASSES),
    (3, yama.NOBODY): (NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, NOBODY_MAY, PASSES),
}


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    gcore = support.require(shutil.which("gcore"), "gcore (it comes with gdb)")
    folder = tmp_path_factory.mktemp("core")
    with ticks() as program:
        subprocess.run([gcore, "-o", str(folder / "core"), str(program.pid)], check=True, capture_output=True)
        program.kill()
    (file,) = folder.glob("core.*")
    file.chmod(0o644)
    return file


def ticks() -> subprocess.Popen[str]:
    program = subprocess.Popen(
        [sys.executable, "-u", str(TICKS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdin is not None and program.stdout is not None
    print(file=program.stdin, flush=True)
    assert program.stdout.readline() == "1\n"
    return program


@pytest.mark.vm
@pytest.mark.slow
@pytest.mark.parametrize(
    ("scope", "user"),
    [
        pytest.param(*cell, marks=() if cell == (1, yama.NOBODY) else (pytest.mark.exhaustive,))
        for cell in TABLE
    ],
)
def test_every_command_under_every_scope(scope: int, user: int, core: Path) -> None:
    script = "from tests.target.yama_commands import main; main()"
    lines = yama.in_vm(scope, ROOT, script, yama.sudo_for_nobody(), [core], f"{user} {core}")
    rows = [json.loads(line) for line in lines]
    assert [row["command"] for row in rows] == list(NAMES)
    for row, expected in zip(rows, TABLE[scope, user], strict=True):
        told = f"{row['command']}: {row}"
        assert row["status"] == expected.status, told
        assert all(part in row["err"] for part in expected.errors), told
        assert not (expected.quiet and row["err"]), told
        assert (row["scope"], row["unharmed"]) == (scope, True), told
        if expected.status == 0:
            # Python's frames are read.
            assert "wait_for_lines" in row["out"] and "ticks.py" in row["out"], told
            assert "attach" not in row["command"] or f"scope while attached: {scope}" in row["out"], told


@pytest.mark.vm
@pytest.mark.slow
@pytest.mark.exhaustive
def test_whoever_dies_the_scope_is_put_back_and_the_program_unharmed() -> None:
    """Also what an editor is told, and that it attaches with ``fixPtrace``."""
    script = "from tests.target.yama_deaths import main; main()"
    found = json.loads(yama.in_vm(1, ROOT, script, yama.sudo_for_nobody(), arguments=f"{yama.NOBODY} -")[-1])
    alive = {"scope": 1, "unharmed": True, "traps": 0}
    assert found["dualdbg killed while it is lowered"] == alive
    assert found["gdb killed"] == {**alive, "status": 3}
    assert found["both killed"] == alive
    refused, attached = found["an editor"]
    assert "ptrace_scope is 1" in refused and "fixPtrace" in refused
    assert "sysctl kernel.yama.ptrace_scope=0" in refused and "sysctl kernel.yama.ptrace_scope=1" in refused
    assert attached == {**alive, "attached": True}
