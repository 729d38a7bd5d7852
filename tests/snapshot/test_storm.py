"""Processes that begin and end while they are looked at: no traceback, and what is said of them is so."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests import rows
from tests.snapshot.test_command import dualdbg
from tests.support import read_ready

# Python processes that live for some milliseconds, of which some have children: new ones for as long as it lasts.
STORM = """
import os, signal, sys, threading, time
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
print("ready pid=%d" % os.getpid(), flush=True)
def one(depth):
    pid = os.fork()
    if pid == 0:
        if depth:
            one(depth - 1)
        threads = [threading.Thread(target=time.sleep, args=(0.002 * at,)) for at in range(3)]
        for each in threads:
            each.start()
        time.sleep(0.003 + 0.01 * depth)
        os._exit(0)
    return pid
end = time.monotonic() + 60
alive = []
while time.monotonic() < end:
    alive.append(one(len(alive) % 2))
    if len(alive) > 6:
        os.waitpid(alive.pop(0), 0)
    time.sleep(0.008)  # some hundred a second, with their children, are a storm; they need not take a whole core
"""


@pytest.fixture(scope="module")
def storm() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", STORM], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield read_ready(process)["pid"][0]
        finally:
            process.kill()  # its children end within milliseconds


COMMANDS = {
    "ps": ["ps"],
    "ps --json": ["ps", "--json"],
    "tree": ["stacks", "--tree", "PID"],
    "diagnose": ["stacks", "--tree", "PID", "--diagnose", "--interval", "0.1"],
    "tree --json": ["stacks", "--tree", "PID", "--json", "--locals"],
    "watch": ["stacks", "--tree", "PID", "--watch", "3", "--interval", "0.05"],
    "top": ["stacks", "--tree", "PID", "--top", "--watch", "5", "--interval", "0.01"],
    "job": ["job", "--via", "local", "PID"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("turn", rows.some(range(4), 1))
def test_storm_of_short_processes(turn: int, command: str, storm: int) -> None:
    done = dualdbg(*(word.replace("PID", str(storm)) for word in COMMANDS[command]))
    assert "Traceback" not in done.stderr and "did not foresee" not in done.stderr, done.stderr
    assert done.returncode in (0, 3), (done.returncode, done.stderr)
    for (
        line
    ) in done.stderr.splitlines():  # why one was not read: because it has ended, and for no other reason
        if "was not read" in line:
            assert "has ended" in line or "there is no process" in line, line
    if "--json" in COMMANDS[command]:
        assert all(map(json.loads, done.stdout.splitlines()))
