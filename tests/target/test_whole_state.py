"""The library that completes gdb's writes of vector registers: in a real gdb, on any processor."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

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
