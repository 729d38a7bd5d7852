"""Programs that a test starts: what is told of their crashes and hangs, and what they do not notice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from dualdbg.shared.proc_files import read_status
from tests import support
from tests.pytest_plugin.driver import run_pytest

_CRASH = "import ctypes; value = 41; ctypes.string_at(8)"
_SUITE = f"""
import ctypes, multiprocessing, subprocess, sys
CRASH = {_CRASH!r}
def crash(address): ctypes.string_at(address)
def process_of(method):
    process = multiprocessing.get_context(method).Process(target=crash, args=(8,))
    process.start()
    process.join()
    return process.exitcode
def python(*words):
    return subprocess.run([sys.executable, *words]).returncode
"""
_WAYS = {
    "run": "python('-c', CRASH)",
    "fork": "process_of('fork')",
    "spawn": "process_of('spawn')",
    "forkserver": "process_of('forkserver')",
    "grandchild": "python('-c', f'import subprocess, sys; a = [sys.executable, \"-c\", {CRASH!r}]; "
    "sys.exit(subprocess.run(a).returncode % 256 - 256)') - 256",
}


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_child_that_crashes_is_told_where_the_test_fails(tmp_path: Path, workers: tuple[str, ...]) -> None:
    rows = [f"def test_{name}(): assert {call} == 0\n" for name, call in _WAYS.items()]
    rows += [f"def test_expects_{name}(): assert {call} == -11\n" for name, call in _WAYS.items()]
    done = run_pytest(
        tmp_path,
        {"test_it.py": _SUITE + "".join(rows)},
        "--dualdbg",
        *("-W", "ignore::DeprecationWarning"),  # Python 3.12 and later: fork() beside the threads of a worker
        *workers,
        env={"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(tmp_path)},
    )
    assert done.totals == {"failed": len(_WAYS), "passed": len(_WAYS)}, done.out
    for text in (done.out, done.xml):
        assert text.count(
            "a child of the test, was ended by SIGSEGV (Segmentation fault) at address 0x8"
        ) == len(_WAYS)
        assert text.count(" py   string_at ") == len(_WAYS)
    assert " py   &lt;module&gt;" in done.xml and "value = 41" in done.xml
    assert done.out.count("::error file=test_it.py,line=") == len(_WAYS)


def test_a_child_before_a_crash_of_the_tests_is_told_too(tmp_path: Path) -> None:
    suite = _SUITE + "def test_a(): assert python('-c', CRASH) == 0\ndef test_b(): ctypes.string_at(0)\n"
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg", env={"GITHUB_ACTIONS": "true"})
    assert done.totals == {"failed": 2}
    assert "a child of the test, was ended by SIGSEGV" in done.out
    assert done.out.count("::error ") == 2


def test_which_programs_are_traced_can_be_said(tmp_path: Path) -> None:
    compiler = support.require(shutil.which("cc"), "a C compiler")
    (tmp_path / "c.c").write_text("int f(int *p) { return *p; }\nint main(void) { return f((int *)4); }\n")
    subprocess.run([compiler, "-g", "-O0", "c.c", "-o", "c"], cwd=tmp_path, check=True)
    suite = f"""
import subprocess, sys
def test_c(): assert subprocess.run(["{tmp_path}/c"]).returncode == 0
def test_shell(): assert subprocess.run("{tmp_path}/c; exit 3", shell=True).returncode == 0
def test_python(): assert subprocess.run([sys.executable, "-c", {_CRASH!r}]).returncode == 0
"""
    for programs, told in {"none": 0, "python": 1, "all": 3}.items():
        done = run_pytest(tmp_path, {"test_it.py": suite}, f"--dualdbg-programs={programs}")
        assert done.totals == {"failed": 3}
        assert done.out.count("a child of the test, was ended by SIGSEGV") == told, programs
        assert done.out.count("#0 c++  f  c.c:1") == 2 * (programs == "all")


def test_a_program_that_is_no_python_may_trace(tmp_path: Path) -> None:
    gdb = support.require(shutil.which("gdb"), "gdb")
    suite = f"""
import subprocess
def test_gdb():
    command = [{gdb!r}, "-nx", "-batch", "-ex", "starti", "-ex", "info registers rip pc", "/bin/true"]
    said = subprocess.run(command, capture_output=True, text=True)
    assert "Program stopped" in said.stdout, said
"""
    assert run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg").totals == {"passed": 1}


def test_the_stacks_of_many_are_not_read(tmp_path: Path) -> None:
    suite = (
        _SUITE
        + "def test_a():\n    for _ in range(8): assert python('-c', 'import os; os.abort()') == -6\n    assert 0\n"
    )
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg")
    assert done.totals == {"failed": 1}
    assert done.out.count("a child of the test, was ended by SIGABRT") == 6
    assert done.out.count(" py   <module>  <string>:1") == 5
    assert done.out.count("only the first 5 crashes of children of a test are read") == 1


def test_a_hang_shows_what_the_children_do(tmp_path: Path) -> None:
    suite = (
        _SUITE
        + '''
WAITS = """
import threading
lock = threading.Lock()
lock.acquire()
def waits(): lock.acquire()
waits()
"""
def waits(queue): queue.get()
def test_run(): python("-c", WAITS)
def test_spawn():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=waits, args=(queue,))
    process.start()
    process.join()
'''
    )
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg-timeout=12")
    assert done.totals == {"failed": 2}
    assert " py   waits  <string>:5" in done.out and " py   test_run  test_it.py:" in done.out
    assert " py   waits  test_it.py:" in done.out and " py   test_spawn  test_it.py:" in done.out


def test_what_outlives_the_tests_is_let_go_of(tmp_path: Path) -> None:
    suite = """
import pathlib, subprocess, sys
def test_a():
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; print(flush=True); time.sleep(1000)"], stdout=subprocess.PIPE
    )
    process.stdout.readline()
    pathlib.Path("pid").write_text(str(process.pid))
"""
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg")
    pid = int((tmp_path / "pid").read_text())
    try:
        assert done.totals == {"passed": 1}
        assert read_status(f"/proc/{pid}/status")["TracerPid"] == "0"
    finally:
        os.kill(pid, signal.SIGKILL)
