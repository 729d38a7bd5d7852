"""A crash in an extension that was compiled with optimisation: values of both languages, and its core."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from dualdbg.system.patience import patient
from tests import support, warm
from tests.pytest_plugin.driver import run_pytest

SUITE = (
    "import sample_capi\ndef test_a():\n    number = 42\n    sample_capi.crash(number)\ndef test_b(): pass\n"
)


def test_native_frames_have_lines_and_values(tmp_path: Path) -> None:
    env = {"PYTHONPATH": str(support.build_native(optimize="2"))}
    done = run_pytest(tmp_path, {"test_it.py": SUITE}, "--dualdbg-core", "cores", env=env)
    assert done.totals == {"failed": 1, "passed": 1}
    frames = r"sample::write_at  \S*helper\.cpp:\d+\n( +\S+ = .*\n)* +value = 42\n"
    frames += r".* c\+\+  capi_crash  \S*sample_capi\.cpp:\d+\n( +\S+ = .*\n)* +value = 42\n"
    assert re.search(frames, done.out), done.out
    assert " py   test_a  test_it.py:4" in done.out and "number = 42" in done.out
    (core,) = (tmp_path / "cores").iterdir()
    assert core.stat().st_mode & 0o077 == 0
    shown = warm.run(
        [sys.executable, "-m", "dualdbg", "core", str(core), "--locals"],
        cwd=tmp_path,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
        timeout=patient(120),
    ).stdout
    assert "ended by SIGSEGV (Segmentation fault) at address" in shown
    assert " py   test_a  test_it.py:4" in shown and "number = 42" in shown
    gdb = ["gdb", "-q", "-nx", "-batch", "-ex", "bt 3", "-c", str(core), sys.executable]
    text = subprocess.run(gdb, capture_output=True, text=True, timeout=patient(120)).stdout
    assert "Program terminated with signal SIGSEGV" in text and "capi_crash" in text


def test_each_of_several_crashes_has_its_values(tmp_path: Path) -> None:
    """What is mapped to read the first crash is mapped in the processes of later tests as well."""
    env = {"PYTHONPATH": str(support.build_native(optimize="2"))}
    suite = "import sample_capi\n" + "".join(
        f"def test_{number}():\n    sample_capi.crash({number})\n" for number in (41, 42, 43)
    )
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg-core", "cores", env=env)
    assert done.totals == {"failed": 3}
    for number in (41, 42, 43):
        frames = rf"capi_crash  \S*sample_capi\.cpp:\d+\n( +\S+ = .*\n)* +value = {number}\n"
        assert re.search(frames, done.out), done.out
    assert "were not read" not in done.out
    for core in (tmp_path / "cores").iterdir():
        shown = warm.run(
            [sys.executable, "-m", "dualdbg", "core", str(core), "--batch", "-x", "bt"],
            cwd=tmp_path,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=patient(120),
        )
        assert "capi_crash" in shown.stdout and "test_it.py:" in shown.stdout, shown.stdout + shown.stderr


def test_an_address_is_told_of_memory_alone(tmp_path: Path) -> None:
    """Of a division, or an instruction that there is not, the kernel tells where the instruction is."""
    source = "int divide(int by) { return (by + 7) / by; }\nvoid trap(void) { __builtin_trap(); }\n"
    (tmp_path / "wrong.c").write_text(source)
    compiler = support.require(shutil.which("cc"), "a C compiler")
    options = ["-g", "-shared", "-fPIC", "wrong.c", "-o", "libwrong.so"]
    subprocess.run([compiler, *options], cwd=tmp_path, check=True)
    suite = """
import ctypes
library = ctypes.CDLL("./libwrong.so")
def test_divide(): library.divide(0)
def test_trap(): library.trap()
"""
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg", "-k", "trap")
    assert "SIGILL" in done.out or "SIGTRAP" in done.out  # AArch64 has brk for it
    assert "at address" not in done.out
    if platform.machine() == "x86_64":  # elsewhere a division by zero is 0
        done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg", "-k", "divide")
        assert "was ended by SIGFPE (Floating point exception)\n" in done.out
        assert "by = 0" in done.out


def test_a_hang_has_values_of_native_frames(tmp_path: Path) -> None:
    """Of a thread that waits, and of one that computes: its frames and its values are of one moment."""
    source = """
#include <unistd.h>
static volatile long turns;
int waits(int number) { char byte; int ends[2]; return pipe(ends) + (int)read(ends[0], &byte, 1) + number; }
int computes(int number) { long own = 0; while (number) { own += number; turns = own; } return (int)own; }
"""
    (tmp_path / "slow.c").write_text(source)
    compiler = support.require(shutil.which("cc"), "a C compiler")
    options = ["-g", "-O0", "-shared", "-fPIC", "slow.c", "-o", "libslow.so"]
    subprocess.run([compiler, *options], cwd=tmp_path, check=True)
    suite = """
import ctypes
library = ctypes.CDLL("./libslow.so")
def test_waits(): library.waits(71)
def test_computes(): library.computes(72)
"""
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg-timeout", "2")
    assert done.totals == {"failed": 2}
    assert re.search(r"waits  slow\.c:4\n( +\S+ = .*\n)* +number = 71\n", done.out), done.out
    assert re.search(r"computes  slow\.c:5\n( +\S+ = .*\n)* +number = 72\n", done.out), done.out
    assert "not read" not in done.out
