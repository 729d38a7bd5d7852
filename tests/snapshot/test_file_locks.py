"""Who has the lock of a file, or of a database of SQLite, that a thread waits for; and nothing of locks that move."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from dualdbg.snapshot.capture import Wanted
from dualdbg.snapshot.facts import ProcessReport
from dualdbg.snapshot.linux.file_locks import with_lock_holders
from dualdbg.snapshot.linux.ptrace import Hold
from dualdbg.snapshot.take import take
from tests.snapshot.test_command import dualdbg, seen
from tests.support import require, wait_until

START = """
import fcntl, os, sqlite3, struct, sys, time
mode, path = sys.argv[1:]
def ready():
    print("ready", flush=True)
def ofd(file, kind, start=0, size=0):
    fcntl.fcntl(file, fcntl.F_OFD_SETLKW, struct.pack("hhqqi4x", kind, os.SEEK_SET, start, size, 0))
"""
# What has the lock, and what waits for it.
KINDS = {
    "flock": ("file = open(path, 'w'); fcntl.flock(file, fcntl.LOCK_EX)", "fcntl.flock(file, fcntl.LOCK_EX)"),
    "flock that is shared": (
        "file = open(path, 'w'); fcntl.flock(file, fcntl.LOCK_SH)",
        "fcntl.flock(file, fcntl.LOCK_EX)",
    ),
    "fcntl": ("file = open(path, 'w'); fcntl.lockf(file, fcntl.LOCK_EX)", "fcntl.lockf(file, fcntl.LOCK_EX)"),
    "a part by fcntl": (
        "file = open(path, 'w'); fcntl.lockf(file, fcntl.LOCK_EX, 10, 5)",
        "fcntl.lockf(file, fcntl.LOCK_EX, 1, 9)",
    ),
    "flock of a child whose parent has ended": (
        "file = open(path, 'w'); fcntl.flock(file, fcntl.LOCK_EX)\nif os.fork(): os._exit(0)",
        "fcntl.flock(file, fcntl.LOCK_EX)",
    ),
    "flock of a child whose parent has closed the file": (
        "file = open(path, 'w'); fcntl.flock(file, fcntl.LOCK_EX)\nif os.fork(): file.close(); os.wait()",
        "fcntl.flock(file, fcntl.LOCK_EX)",
    ),
    "an open file's": (
        "file = open(path, 'w'); ofd(file, fcntl.F_WRLCK)",
        "ofd(file, fcntl.F_WRLCK)",
    ),
    "a part of an open file": (
        "file = open(path, 'w'); ofd(file, fcntl.F_WRLCK, 5, 10)",
        "ofd(file, fcntl.F_WRLCK, 15, -9)",
    ),
    "an open file's, of a child whose parent has ended": (
        "file = open(path, 'w'); ofd(file, fcntl.F_WRLCK)\nif os.fork(): os._exit(0)",
        "ofd(file, fcntl.F_WRLCK)",
    ),
    "an open file's, for a process": (
        "file = open(path, 'w'); ofd(file, fcntl.F_WRLCK)",
        "fcntl.lockf(file, fcntl.LOCK_EX)",
    ),
    "a process's, for an open file": (
        "file = open(path, 'w'); fcntl.lockf(file, fcntl.LOCK_EX)",
        "ofd(file, fcntl.F_WRLCK)",
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
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
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


def test_who_has_the_lock_of_a_file(tmp_path: Path) -> None:
    """All kinds at once: each waiter has the holder of its own file, also where the holders are looked at too."""
    holding, waiting = {}, {}
    with ExitStack() as stack:
        for at, (kind, (has, waits)) in enumerate(KINDS.items()):
            path = tmp_path / str(at)
            holding[kind] = number(stack.enter_context(program(f"{has}{TELL}time.sleep(1000)", path)))
            stack.callback(os.kill, holding[kind], signal.SIGKILL)
            waiter = stack.enter_context(program(f"file = open(path, 'w'){TELL}{waits}", path))
            waiting[kind] = number(waiter)
        for pid in waiting.values():
            _until_it_waits(pid)
        alone = _texts(*waiting.values())
        with_holders = _texts(*waiting.values(), *holding.values())
    for at, kind in enumerate(KINDS):
        told, with_holder = (" ".join(texts[waiting[kind]]) for texts in (alone, with_holders))
        assert f"waits for the lock of the file at descriptor 3 ({tmp_path / str(at)})" in told, kind
        assert f"process {holding[kind]} (" in told and "has it locked" in told, (kind, told)
        assert "has it locked, and is in <module> (<string>" in with_holder, (kind, with_holder)


def _texts(*pids: int) -> dict[int, list[str]]:
    """What is found of each process's main thread."""
    _, findings = seen("--interval", "0.3", *map(str, pids))
    return {pid: [one["text"] for one in findings if pid in _threads(one)] for pid in pids}


def _threads(finding: dict[str, Any]) -> list[int]:
    return [thread["tid"] for thread in finding["threads"]]


def _until_it_waits(pid: int) -> None:
    numbers = {"x86_64": ("73 ", "72 "), "aarch64": ("32 ", "25 ")}[platform.machine()]  # flock, fcntl
    wait_until(lambda: Path(f"/proc/{pid}/syscall").read_text().startswith(numbers))


@pytest.mark.parametrize("kind", ["flock", "an open file's"])
def test_a_stopped_thread_is_waited_for(kind: str, tmp_path: Path) -> None:
    """A stop takes it out of the list of those who wait, and a busy machine lets it run on late."""
    has, waits = KINDS[kind]
    path = tmp_path / "lock"
    told: list[ProcessReport] = []
    with program(f"{has}{TELL}time.sleep(1000)", path) as holder:
        holding = number(holder)
        with program(f"file = open(path, 'w'){TELL}{waits}", path) as waiter:
            _until_it_waits(number(waiter))
            reports, _ = take([waiter.pid], wanted=Wanted())
            looks = threading.Thread(target=lambda: told.extend(with_lock_holders(reports)))
            with Hold(waiter.pid):
                looks.start()
                looks.join(0.1)
            looks.join()
    [thread] = told[0].threads
    assert thread.system_call is not None and thread.system_call.descriptor is not None
    assert [one.pid for one in thread.system_call.descriptor.lock_holders] == [holding]


def test_a_lock_that_the_process_has_itself(tmp_path: Path) -> None:
    code = f"a = open(path, 'w'); b = open(path, 'w'); fcntl.flock(a, fcntl.LOCK_EX){TELL}fcntl.flock(b, fcntl.LOCK_EX)"
    with program(code, tmp_path / "lock") as process:
        pid = number(process)
        _until_it_waits(pid)
        told = diagnosis(pid)
    assert "the process itself has it locked, by another descriptor or thread" in told


def test_who_has_the_part_that_is_waited_for(tmp_path: Path) -> None:
    """No row of /proc/locks says which process asks for which part of an open file, or has it."""
    path, parts = tmp_path / "lock", ("0, 10", "10, 10")
    has = f"file = open(path, 'r+'); ofd(file, fcntl.F_WRLCK, PART){TELL}time.sleep(1000)"
    waits = f"file = open(path, 'r+'){TELL}ofd(file, fcntl.F_WRLCK, PART)"
    path.touch()
    rows = [(has.replace("PART", part), waits.replace("PART", part), path) for part in parts]
    _check_each_waits_for_its_own(rows)


def test_two_that_read_and_wait_to_write(tmp_path: Path) -> None:
    """Each waits for the other one, and not for what it has locked itself, though both have locked the same."""
    path = tmp_path / "lock"
    path.touch()
    code = (
        f"file = open(path, 'r+'); ofd(file, fcntl.F_RDLCK){TELL}sys.stdin.read(); ofd(file, fcntl.F_WRLCK)"
    )
    with program(code, path) as first, program(code, path) as second:
        pids = number(first), number(second)
        for process, pid in zip((first, second), pids, strict=True):
            assert process.stdin is not None
            process.stdin.close()
            _until_it_waits(pid)
        told = [diagnosis(pid) for pid in pids]
    for one, (pid, other) in zip(told, (pids, pids[::-1]), strict=True):
        assert f"process {other} (" in one and f"process {pid} (" not in one and "itself" not in one, told


def test_an_open_file_that_is_shared(tmp_path: Path) -> None:
    """By a parent and its child: both have it, and whoever has opened the same file by himself has not."""
    path = tmp_path / "lock"
    has = "file = open(path, 'w'); ofd(file, fcntl.F_WRLCK); child = os.fork()"
    has += f"\nif child: print(child){TELL}time.sleep(1000)"
    others = f"file = open(path, 'w'){TELL}time.sleep(1000)"
    with program(has, path) as holder, program(others, path) as other:
        child, parent = number(holder), number(holder)
        try:
            with program(f"file = open(path, 'w'){TELL}ofd(file, fcntl.F_WRLCK)", path) as waiter:
                pid = number(waiter)
                _until_it_waits(pid)
                told = diagnosis(pid)
        finally:
            os.kill(child, 9)
        assert f"process {parent} (" in told and f"process {child} (" in told, told
        assert f"process {number(other)} (" not in told


def test_files_of_two_file_systems_with_the_same_number(tmp_path: Path) -> None:
    """Who has the other one locked is not told."""
    with ExitStack() as stack:
        files = [stack.enter_context(_first_file_of_its_own(tmp_path / name)) for name in ("one", "two")]
        require(
            files[0].stat().st_ino == files[1].stat().st_ino, "tmpfs that numbers its files", outside=True
        )
        has = f"file = open(path, 'w'); fcntl.lockf(file, fcntl.LOCK_EX){TELL}time.sleep(1000)"
        waits = f"file = open(path, 'w'){TELL}ofd(file, fcntl.F_WRLCK)"
        _check_each_waits_for_its_own([(has, waits, file) for file in files])


def _check_each_waits_for_its_own(rows: Sequence[tuple[str, str, Path]]) -> None:
    """Code that has a lock, and code that waits for it, with the file of both: no other holder is told."""
    with ExitStack() as stack:
        holding = [number(stack.enter_context(program(has, file))) for has, _, file in rows]
        waiting = [number(stack.enter_context(program(waits, file))) for _, waits, file in rows]
        for pid in waiting:
            _until_it_waits(pid)
        told = [diagnosis(pid) for pid in waiting]
    found = [[f"process {pid} (" in each for pid in holding] for each in told]
    assert found == [[mine == own for mine in holding] for own in holding], told


@contextmanager
def _first_file_of_its_own(folder: Path) -> Iterator[Path]:
    """In a file system that is mounted for it."""
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "none", folder]).returncode == 0
    require(mounted, "the right to mount", outside=True)
    try:
        (folder / "lock").touch()
        yield folder / "lock"
    finally:
        subprocess.run(["umount", folder], check=True)


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
    assert re.search(r"it has waited all of the last \d+(\.\d)? s", told)
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
