"""Pythons without a GIL: `scripts/free-threaded` builds one. Threads run Python at the same time."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.driver import dualdbg
from tests.support import FREE_THREADED, find_interpreter, read_ready, require, wait_until

SPINNING = """
import os, threading, time

def spin(n):
    total = 0
    while not over:
        total += n

over = False
for n in range(2):
    threading.Thread(target=spin, args=(n,), daemon=True, name="spin-%d" % n).start()
print("ready pid=%d" % os.getpid(), flush=True)

def waits(known):
    time.sleep(600)

waits({"a": [1, 2]})
"""
TURNS = """
import os, threading, time

def turn(n):
    while True:
        time.sleep(0.01)
        n += 1

for n in range(3):
    threading.Thread(target=turn, args=(n,), daemon=True).start()
print("ready pid=%d" % os.getpid(), flush=True)
time.sleep(600)
"""
CALLS = """
import os, threading

shared = []

def work(n):
    found = [shared]
    for i in range(n):
        found.append(os.getppid())
    return found

thread = threading.Thread(target=work, args=(2,), name="worker")
thread.start()
thread.join()
work(1)
"""


@pytest.fixture(params=FREE_THREADED)
def python(request: pytest.FixtureRequest) -> Path:
    found = find_interpreter(request.param)
    return require(
        found, f"Python {request.param} is not installed: scripts/free-threaded builds it", outside=True
    )


@pytest.fixture
def spinning(python: Path) -> Iterator[str]:
    with subprocess.Popen([python, "-c", SPINNING], stdout=subprocess.PIPE, text=True) as process:
        try:
            [pid] = read_ready(process)["pid"]
            yield str(pid)
        finally:
            process.kill()


def test_threads_that_run_at_the_same_time(spinning: str) -> None:
    def names() -> list[str]:
        [process] = dualdbg("stacks", "--json", spinning).of("process")
        assert not [thread for thread in process["threads"] if thread["holds_gil"]]
        return sorted(
            str(frame["function"])
            for thread in process["threads"]
            for frame in thread["frames"]
            if frame["function"] in ("spin", "waits")
        )

    # A thread that makes a frame just now has none for this one look.
    wanted = ["spin", "spin", "waits"]
    wait_until(lambda: names() == wanted, what=f"stacks of {wanted}")
    done = dualdbg("stacks", "--locals", spinning)
    assert "known = {'a': [1, 2]}" in done.stdout
    assert "GIL" not in dualdbg("stacks", "--diagnose", spinning).stdout


def test_python_control_comes_to_threads_that_run_at_the_same_time(python: Path, tmp_path: Path) -> None:
    program = tmp_path / "turns.py"
    program.write_text(TURNS)
    with subprocess.Popen([python, program], stdout=subprocess.PIPE, text=True) as process:
        try:
            [pid] = read_ready(process)["pid"]
            commands = ("continue", "p n", "next", "threads", "delete 1", "detach")
            words = [word for command in commands for word in ("-x", command)]
            stops = ("-b", f"{program}:6")
            done = dualdbg("attach", str(pid), "--json", "--no-stacks", *stops, "--batch", *words)
            stops_at = [(stop["origin"], stop["frame"]["function"]) for stop in done.of("stopped")]
            assert stops_at[0][0] == "native" and stops_at[1:] == 2 * [("python", "turn")], done
            assert "GIL" not in done.stdout
            assert process.poll() is None
        finally:
            process.kill()


def test_both_languages_of_a_thread(python: Path, tmp_path: Path) -> None:
    program = tmp_path / "calls.py"
    program.write_text(CALLS)
    words = (
        "bt",
        "threads",
        "finish",
        "locals",
        "step",
        "pyobject shared",
        "delete 1",
        "continue",
        "p found",
        "next",
    )
    commands = [word for command in words for word in ("-x", command)]
    stops = ("-b", "getppid", "-b", f"{program}:10")
    done = dualdbg("run", "--json", "--python", python, *stops, "--batch", *commands, program)
    assert [(event["reason"], event["frame"]["function"]) for event in done.of("stopped")][:4] == [
        ("breakpoint", "getppid"),
        ("step", "work"),
        ("step", "work"),
        ("breakpoint", "work"),
    ], done
    [stack] = done.of("stack")
    assert [frame["function"] for frame in stack["frames"] if frame["role"] == "user"][:2] == [
        "getppid",
        "work",
    ]
    assert "GIL" not in done.stdout
