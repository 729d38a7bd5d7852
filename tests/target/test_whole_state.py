"""The library that completes gdb's writes of vector registers: in a real gdb, on any processor."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.errors import TargetError
from dualdbg.target import preload
from dualdbg.target.whole_state import WHOLE_STATE
from tests import support

PROGRAM = Path(__file__).parent / "interrupted.c"


def test_a_call_leaves_a_system_call_and_vector_registers_as_they_were(tmp_path: Path) -> None:
    """gdb writes the number of the system call back after the vector registers, or not at all if that fails."""
    support.require(platform.machine() == "x86_64", "an x86-64 processor", outside=True)
    gdb = support.require(shutil.which("gdb"), "gdb")
    compiler = support.require(shutil.which("gcc") or shutil.which("cc"), "a C compiler")
    subprocess.run([compiler, "-g", "-O0", "-o", tmp_path / "interrupted", PROGRAM], check=True)
    library = tmp_path / WHOLE_STATE.file_name
    library.write_bytes(WHOLE_STATE.compile())
    env = {**os.environ, preload.VARIABLE: WHOLE_STATE.preload(library, None)}
    command = [gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off"]
    with subprocess.Popen([tmp_path / "interrupted"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        support.wait_until(lambda: sleeps(process.pid), what="it is in its system call")
        command += ["-p", str(process.pid), "-ex", "print change()", "-ex", "detach"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env)
        assert "$1 = 7\n" in done.stdout, done
        assert "LD_PRELOAD" not in done.stderr
        rest = process.stdout.read()
    assert (process.returncode, rest) == (0, "result 0, register 0x1234567\n")


def sleeps(pid: int) -> bool:
    return Path(f"/proc/{pid}/syscall").read_text().split()[0] == "35"  # nanosleep


@pytest.mark.processes
def test_what_a_compiler_leaves_that_is_killed_goes_with_our_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler has files of its own in TMPDIR, and no time to remove them when it is killed."""
    for name in preload.COMPILERS:
        (tmp_path / name).write_text(
            f'#!/bin/sh\necho "$TMPDIR" > {tmp_path}/told\n: > "$TMPDIR/cc.o"\nkill -9 $$\n'
        )
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(TargetError, match="status -9") as caught:
        WHOLE_STATE.compile()
    assert caught.value.hint
    folder = Path((tmp_path / "told").read_text().strip())
    assert folder.name.startswith("dualdbg-") and not folder.exists()
