"""Who has the lock of a file, or of a database of SQLite, that a thread waits for; and nothing of locks that move."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.snapshot.test_command import dualdbg
from tests.support import wait_until

START = """
import fcntl, os, sqlite3, sys, time
mode, path = sys.argv[1:]
def ready():
    print("ready", flush=True)
"""
# What has the lock, and what waits for it.
KINDS = {
    "flock": ("file = open(path, 'w'); fcntl.flock(file, fcntl.LOCK_EX)", "flock(file, fcntl.LOCK_EX)"),
    "flock that is shared": (
        "file = open(path, 'w'); fcntl.flock(file, fcntl.LOCK_SH)",
        "flock(file, fcntl.LOCK_EX)",
    ),
    "fcntl": ("file = open(path, 'w'); fcntl.lockf(file, fcntl.LOCK_EX)", "lockf(file, fcntl.LOCK_EX)"),
    "a part by fcntl": (
        "file = open(path, 'w'); fcntl.lockf(file, fcntl.LOCK_EX, 10, 5)",
        "lockf(file, fcntl.LOCK_EX, 1, 9)",
    ),
    "flock of a child whose parent has ended": (
        "file = open(path, 'w'); fcntl.flock(file, fcntl.LOCK_EX)\nif os.fork(): os._exit(0)",
        "flock(file, fcntl.LOCK_EX)",
    ),
    "flock of a child whose parent has closed the file": (
        "file = open(path, 'w'); fcntl.flock(file, fcntl.LOCK_EX)\nif os.fork(): file.close(); os.wait()",
        "flock(file, fcntl.LOCK_EX)",
    ),
}
DATABASE = """
one = sqlite3.connect(path, timeout=1000, isolation_level=None)
one.execute("pragma journal_mode={journal}")
one.execute("create table if not exists t (x)")
"""


@contextmanager
def program(code: str, path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """One that has printed ``ready`` and its process id."""
    command = [sys.executable, "-c", START + code, "mode", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def number(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


TELL = "\nprint(os.getpid(), flush=True)\n"


def diagnosis(*pids: int, interval: str = "0.3") -> str:
    done = dualdbg("stacks", "--diagnose", "--interval", interval, *map(str, pids))
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.partition("\n\n")[0].split())


@pytest.mark.parametrize("kind", KINDS)
def test_who_has_the_lock_of_a_file(kind: str, tmp_path: Path) -> None:
    has, waits = KINDS[kind]
    path = tmp_path / "lock"
    waiting = f"file = open(path, 'w'){TELL}fcntl.{waits}"
    with program(f"{has}{TELL}time.sleep(1000)", path) as holder:
        holding = number(holder)
        try:
            with program(waiting, path) as waiter:
                pid = number(waiter)
                _until_it_waits(pid)
                told = diagnosis(pid)
                with_holder = diagnosis(pid, holding)
        finally:
            os.kill(holding, 9)
    assert f"waits for the lock of the file at descriptor 3 ({path})" in told
    assert f"process {holding} (" in told and "has it locked" in told, told
    assert "has it locked, and is in <module> (<string>" in with_holder, with_holder


def _until_it_waits(pid: int) -> None:
    numbers = {"x86_64": ("73 ", "72 "), "aarch64": ("32 ", "25 ")}[platform.machine()]  # flock, fcntl
    wait_until(lambda: Path(f"/proc/{pid}/syscall").read_text().startswith(numbers))


def test_a_lock_that_the_process_has_itself(tmp_path: Path) -> None:
    code = f"a = open(path, 'w'); b = open(path, 'w'); fcntl.flock(a, fcntl.LOCK_EX){TELL}fcntl.flock(b, fcntl.LOCK_EX)"
    with program(code, tmp_path / "lock") as process:
        pid = number(process)
        _until_it_waits(pid)
        told = diagnosis(pid)
    assert "the process itself has it locked, by another descriptor or thread" in told


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_who_has_a_database(journal: str, tmp_path: Path) -> None:
    path = tmp_path / "data.sqlite"
    begin = DATABASE.format(journal=journal)
    with program(f"{begin}one.execute('begin immediate'){TELL}time.sleep(1000)", path) as holder:
        holding = number(holder)
        with program(f"{begin}{TELL}one.execute('insert into t values (1)')", path) as waiter:
            pid = number(waiter)
            told = ""
            for _ in range(20):  # SQLite waits for a third of a second before it looks as seldom as then
                if "database of SQLite" in (told := diagnosis(pid)):
                    break
    assert f"waits for the lock of a database of SQLite {path}" in told, told
    assert "it has waited all of the last 0.3 s" in told
    assert f"process {holding} (" in told and "has it locked" in told


def test_locks_that_move_are_not_told(tmp_path: Path) -> None:
    """Two programs that take turns: each waits at many moments, and never for long."""
    code = f"""{TELL}
file = open(path, "w")
one = sqlite3.connect(path + ".sqlite", timeout=1000, isolation_level=None)
one.execute("create table if not exists t (x)")
while True:
    fcntl.flock(file, fcntl.LOCK_EX)
    time.sleep(0.005)
    fcntl.flock(file, fcntl.LOCK_UN)
    one.execute("insert into t values (1)")
    time.sleep(0.01)
"""
    with program(code, tmp_path / "x") as first, program(code, tmp_path / "x") as second:
        pids = number(first), number(second)
        told = [diagnosis(*pids) for _ in range(3)]
    assert all(one.startswith("Nothing that looks wrong") for one in told), told
