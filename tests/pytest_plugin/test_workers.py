"""Workers of pytest-xdist: one that dies is told with its stack."""

from __future__ import annotations

from pathlib import Path

from tests.pytest_plugin.driver import run_pytest

SUITE = """
import ctypes, os, time
def test_a(): pass
def test_crash():
    number = 7
    print("said before")
    ctypes.string_at(0)
def test_hang(): time.sleep(1000)
def test_b(): pass
"""


ENDS = """
import os
import pytest
def test_a(): pass
def test_exit(): os._exit(7)
def test_kill(): os.kill(os.getpid(), 9)
def test_b(): pass
@pytest.fixture
def broken(): os.abort()
def test_setup(broken): pass
@pytest.fixture
def breaks_later():
    yield
    os.abort()
def test_teardown(breaks_later): pass
"""


def test_a_worker_that_ends_without_a_crash_is_told_with_how_it_ended(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, {"test_it.py": ENDS}, "-n", "2", "--dualdbg")
    assert done.status == 1
    assert done.totals == {"failed": 2, "error": 2, "passed": 3}
    assert done.cases["test_exit"] == done.cases["test_kill"] == ["failure"]
    assert done.cases["test_setup"] == done.cases["test_teardown"] == ["error"]
    assert 'message="ended with status 7 in test_exit (test_it.py:5)"' in done.xml
    assert 'message="failed on setup with' in done.xml and 'message="failed on teardown with' in done.xml
    assert "FAILED test_it.py::test_exit - ended with status 7" in done.out
    assert "FAILED test_it.py::test_kill - was ended by SIGKILL" in done.out
    assert "crashed while running" not in done.out


def test_a_worker_that_dies_or_hangs_is_told(tmp_path: Path) -> None:
    env = {"GITHUB_ACTIONS": "true"}
    done = run_pytest(tmp_path, {"test_it.py": SUITE}, "-n", "2", "--dualdbg-timeout", "6", env=env)
    assert done.status == 1
    assert done.totals == {"failed": 2, "passed": 2}
    assert "FAILED test_it.py::test_crash - SIGSEGV in " in done.out
    assert "FAILED test_it.py::test_hang - has not ended after 6 s in test_hang (test_it.py:8)" in done.out
    assert " py   test_crash  test_it.py:7" in done.out and "number = 7" in done.out
    assert "execnet" not in done.out  # how a worker talks to its controller is nothing of the test's
    assert done.out.count("::error file=test_it.py,line=") == 2
