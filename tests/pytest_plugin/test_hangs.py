"""Tests that do not come to an end: told with their stacks, and ended."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.pytest_plugin.driver import run_pytest

SUITE = """
import os, subprocess, sys, threading

def test_before(): pass

def test_deadlock():
    first, second = threading.Lock(), threading.Lock()
    child = subprocess.Popen(["sleep", "1000"])
    barrier = threading.Barrier(2)
    def take(one, other):
        with one:
            barrier.wait()
            with other:
                pass
    threads = [threading.Thread(target=take, args=pair, name=name)
               for pair, name in (((first, second), "forth"), ((second, first), "back"))]
    for thread in threads:
        thread.start()
    threads[0].join()

def test_after(): pass
"""


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="who holds a Python lock is not known from 3.14 on")
def test_a_test_that_hangs_is_diagnosed_and_fails(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path, {"test_it.py": SUITE}, "--dualdbg-timeout", "3.5", env={"GITHUB_ACTIONS": "true"}
    )
    assert done.status == 1
    assert done.totals == {"failed": 1, "passed": 2}
    assert done.cases == {"test_before": [], "test_deadlock": ["failure"], "test_after": []}
    assert "has not ended after 3.5 s" in done.out
    assert "deadlock: 2 threads wait for each other" in done.out
    assert (
        "sleep 1000" in done.out
    )  # descendants are read too, and end with the test: the harness looks for them
    assert "::error file=test_it.py,line=19," in done.out


def test_a_module_may_not_take_longer_either(tmp_path: Path) -> None:
    suite = {"test_a.py": "import time\ntime.sleep(1000)\n", "test_b.py": "def test_b(): pass\n"}
    done = run_pytest(tmp_path, suite, "--dualdbg-timeout", "3.5", "--continue-on-collection-errors")
    assert done.totals == {"passed": 1, "error": 1}
    assert "ERROR collecting test_a.py" in done.out


def test_many_tests_within_the_time_are_no_hang(tmp_path: Path) -> None:
    suite = "import time, pytest\n@pytest.mark.parametrize('n', range(11))\ndef test_a(n): time.sleep(0.5)\n"
    assert run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg-timeout", "5").totals == {"passed": 11}


@pytest.mark.parametrize("seconds", ["0", "-1", "soon"])
def test_a_time_has_to_be_one(tmp_path: Path, seconds: str) -> None:
    done = run_pytest(tmp_path, {}, f"--dualdbg-timeout={seconds}")
    assert done.status == 4
    assert f"{seconds} is no number of seconds above 0" in done.err


def test_tasks_that_wait_for_each_other_are_told(tmp_path: Path) -> None:
    suite = """
import asyncio
def test_tasks():
    async def main():
        async def one(): await tasks[1]
        async def two(): await tasks[0]
        tasks = [asyncio.ensure_future(one()), asyncio.ensure_future(two())]
        await tasks[0]
    asyncio.run(main())
"""
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg-timeout=6")
    assert done.totals == {"failed": 1}
    assert "deadlock: 2 tasks await each other" in done.out


def test_a_hang_without_a_finding_says_what_was_looked_at(tmp_path: Path) -> None:
    suite = {"test_it.py": "import time\ndef test_a(): time.sleep(1000)\n"}
    done = run_pytest(tmp_path, suite, "--dualdbg-timeout", "2")
    assert done.status == 1
    assert "Nothing that looks wrong: no thread waits for another one that is known, for a lock" in done.out


def test_who_computes_is_told(tmp_path: Path) -> None:
    """As ``diagnose`` tells it: by a second look."""
    suite = """
import threading
def work():
    total = 0
    while True:
        total += 1
def test_alone(): work()
def test_thread():
    thread = threading.Thread(target=work, name="cruncher", daemon=True)
    thread.start()
    thread.join()
"""
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg-timeout", "2")
    assert done.totals == {"failed": 2}
    told = re.findall(r"- thread \d+ (.*) is busy: .*, in work \(test_it\.py:[56]\)", done.out)
    assert len(told) == 2 and told[1] == "cruncher", done.out
    assert re.search(r"waits for thread \d+ cruncher to end, in test_thread", done.out)
    assert re.search(r"^\[\d\] thread \d+ .*: $", done.out, re.MULTILINE) is None  # a heading without a state
    assert "holds the GIL, running" in done.out


def test_the_tasks_of_a_hang_are_told(tmp_path: Path) -> None:
    suite = """
import asyncio
def test_queue():
    async def consumer():
        await asyncio.Queue().get()
    asyncio.run(consumer())
"""
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg-timeout", "2")
    assert "consumer, waits for a future" in done.out and "consumer  test_it.py:5" in done.out


def test_a_test_that_ends_between_the_looks_is_no_hang(tmp_path: Path) -> None:
    suite = "import time\ndef test_a():\n    end = time.monotonic() + 1.6\n    while time.monotonic() < end: pass\n"
    assert run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg-timeout", "1.2").totals == {"passed": 1}


def test_a_lock_that_a_test_takes_twice_is_told(tmp_path: Path) -> None:
    text = (
        "import threading\nlock = threading.Lock()\ndef test_a():\n    with lock:\n        with lock: pass\n"
    )
    done = run_pytest(tmp_path, {"test_it.py": text}, "--dualdbg-timeout", "4")
    assert done.status == 1
    assert "waits for the Python lock at 0x" in done.out and "which it holds itself" in done.out
