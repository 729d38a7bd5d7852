"""Locks of asyncio: who waits for whom, for every version of Python; and event loops that stand in a call."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dualdbg.model import Task
from dualdbg.snapshot.capture import Wanted
from dualdbg.snapshot.facts import ProcessReport
from dualdbg.snapshot.report.diagnose import diagnose
from dualdbg.snapshot.take import take
from tests.snapshot.programs_running import PROGRAMS
from tests.snapshot.test_command import dualdbg
from tests.snapshot.test_tasks import python

__all__ = ["python"]  # the fixture: each version in turn


@contextmanager
def running(command: list[str]) -> Iterator[int]:
    """The PID of a program that has printed a line."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            yield process.pid
        finally:
            process.kill()


def report_of(pid: int) -> ProcessReport:
    (report,), failures = take([pid], wanted=Wanted.to_diagnose())
    assert not failures
    return report


def test_who_waits_for_whose_lock(python: Path) -> None:
    with running([str(python), str(PROGRAMS / "asyncio_locks.py")]) as pid:
        report = report_of(pid)
    assert report.tasks is not None and report.tasks.notes == ()
    tasks = {task.name: task for task in report.tasks.tasks}
    names = {task.address: task.name for task in tasks.values()}
    holders = {name: names.get(task.lock_holder or 0) for name, task in tasks.items() if _waits(task)}
    expected = {
        "ring a": "ring b",
        "ring b": "ring a",
        "self": "self",
        "mixed b": "mixed a",
        "limit b": "limit a",
        "gives back": None,
        "waits for one who has it": "has",
        "waits for the ring": "ring a",
    }
    if "timeout a" in tasks:  # 3.11 and later
        expected |= {"timeout a": "timeout b", "timeout b": "timeout a"}
    # Up to 3.11 the task of wait_for stands for the one that has called it.
    holders = {name: holder for name, holder in holders.items() if not name.startswith(("Task-", "limit a"))}
    assert holders == expected
    assert tasks["self"].waits_for == f"the Lock at {_lock(tasks['self'])}, which it has itself"
    stuck = {
        frozenset(names[address] for _, address in finding.tasks)
        for finding in diagnose([report])
        if finding.kind == "task-deadlock"
    }
    assert stuck == {
        frozenset({"ring a", "ring b"}),
        frozenset({"self"}),
        frozenset({"mixed a", "mixed b"}),
    }


def _waits(task: Task) -> bool:
    return (task.waits_for or "").startswith("the Lock at ")


def _lock(task: Task) -> str:
    found = re.search(r"0x[0-9a-f]+", task.waits_for or "")
    assert found is not None
    return found[0]


LOOP = """
import asyncio, socket, subprocess, threading, time
server = socket.create_server(("127.0.0.1", 0))
def ready():
    print("ready", flush=True)
async def other():
    while True:
        await asyncio.sleep(0.05)
async def sleeps():
    ready(); time.sleep(1000)
async def reads():
    with socket.create_connection(server.getsockname()) as one:
        ready(); one.recv(1)
async def waits_for_a_lock():
    lock = threading.Lock()
    with lock:
        ready(); lock.acquire()
def callback():
    ready(); time.sleep(1000)
async def calls_back():
    asyncio.get_running_loop().call_later(0.01, callback)
    await asyncio.sleep(1000)
async def in_a_thread():
    ready(); await asyncio.get_running_loop().run_in_executor(None, time.sleep, 1000)
async def awaits():
    ready(); await asyncio.sleep(1000)
async def main(alone, what):
    await (what() if alone else asyncio.gather(what(), other()))
"""
BLOCKED = {
    "sleeps": (
        " s more, in sleeps (<string>",
        "in task Task-2: 2 other tasks cannot go on meanwhile (Task-1, Task-3)",
    ),
    "reads": ("waits to read from descriptor", "in task Task-2: 2 other tasks cannot go on meanwhile"),
    "waits_for_a_lock": ("which it holds itself", "in task Task-2: 2 other tasks cannot go on meanwhile"),
    "calls_back": (" s more, in callback (<string>", "in a callback: 3 other tasks cannot go on meanwhile"),
}


def diagnosis(code: str) -> str:
    with running([sys.executable, "-c", LOOP + code]) as pid:
        done = dualdbg("stacks", str(pid), "--diagnose", "--interval", "0.3")
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.partition("\n\n")[0].split())


@pytest.mark.parametrize("kind", BLOCKED)
def test_a_loop_that_stands_in_a_call(kind: str) -> None:
    told = diagnosis(f"asyncio.run(main(False, {kind}))")
    assert "it is the thread of an event loop" in told
    assert all(part in told for part in BLOCKED[kind]), told


@pytest.mark.parametrize(("kind", "alone"), [("sleeps", True), ("in_a_thread", False), ("awaits", False)])
def test_a_loop_that_holds_nobody_up(kind: str, alone: bool) -> None:
    """One without other tasks; and one that waits for its tasks, whatever these wait for."""
    told = diagnosis(f"asyncio.run(main({alone}, {kind}))")
    assert told.startswith("Nothing that looks wrong") and "event loop" not in told
