"""What is done when dualdbg has ended, in whatever way: folders are removed, a stuck gdb is ended."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest

from dualdbg.system import afterwards, session_folders
from dualdbg.system.patience import patient
from tests import support

# Says what it has made, and then is what the test makes of it.
DRIVER = """\
import os, subprocess, sys
from pathlib import Path
from dualdbg.system import afterwards, session_folders
def stubborn():
    child = subprocess.Popen(["/bin/sh", "-c", "trap '' TERM; exec sleep 1000"], start_new_session=True)
    return child.pid
if sys.argv[2] == "soon":  # not in five seconds: a test waits them out
    assert "-lt 50 ]" in afterwards._SCRIPT
    afterwards._SCRIPT = afterwards._SCRIPT.replace("-lt 50 ]", "-lt 5 ]")
exec(sys.argv[1])
sys.stdout.flush()  # what it printed is told when all of it is done
sys.stdin.read()
"""
DEADLINE = patient(120.0)  # seconds; only a hang takes that long


def start(code: str, tmp_path: Path, when: str = "soon") -> tuple[subprocess.Popen[str], str]:
    """A process that runs ``code``; returns it and the line that it wrote.

    What is left is ended ``soon`` after it, or ``in time``, as for users.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, code, when],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(support.ROOT), "TMPDIR": str(tmp_path)},
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def end(process: subprocess.Popen[str], how: int = signal.SIGKILL) -> None:
    process.send_signal(how)
    with process:
        process.wait(DEADLINE)


def guard_of(process: subprocess.Popen[str]) -> psutil.Process:
    found: list[psutil.Process] = []

    def is_found() -> bool:  # a process has no command line for a moment after exec has closed what it closes
        found[:] = [one for one in psutil.Process(process.pid).children() if "dualdbg-guard" in one.cmdline()]
        return bool(found)

    support.wait_until(is_found, DEADLINE, "the guard is there")
    return found[0]


MAKES = (
    "folder = session_folders.make(); (folder / 'sub').mkdir(); (folder / 'sub' / 'x').write_text('x');"
    "print(folder)"
)


def test_a_folder_goes_with_its_process(tmp_path: Path) -> None:
    process, folder = start(MAKES, tmp_path)
    assert Path(folder, "sub", "x").exists()
    assert Path(folder).stat().st_mode & 0o777 == 0o700
    end(process)
    support.wait_until(lambda: not list(tmp_path.iterdir()), DEADLINE, "the folder is gone")


@pytest.mark.parametrize("event", ["os.mkdir", "open", "os.rename"])
def test_a_process_that_is_killed_while_it_makes_its_first_folder(event: str, tmp_path: Path) -> None:
    """At each step of :func:`session_folders.make`."""
    begin = str(tmp_path / "dualdbg-")
    code = (
        f"sys.addaudithook(lambda event, args: event == {event!r} and str(args[0]).startswith({begin!r})"
        " and os.kill(os.getpid(), 9)); session_folders.make()"
    )
    process, line = start(code, tmp_path)
    with process:
        assert (process.wait(DEADLINE), line) == (-signal.SIGKILL, "")
    support.wait_until(lambda: not list(tmp_path.iterdir()), DEADLINE, "the folder is gone")


def test_nothing_else_is_made_where_temporary_files_are(tmp_path: Path) -> None:
    """Not for a moment either: it would stay where we are killed in that."""
    code = (
        "made = []; sys.addaudithook(lambda event, arguments: event == 'open' and arguments[2] & os.O_CREAT"
        " and isinstance(arguments[0], (str, Path)) and made.append(arguments[0]));"
        " folder = session_folders.make(); print(folder, *made)"
    )
    process, line = start(code, tmp_path)
    folder, *made = line.split()
    assert [Path(path).parent for path in made] == [Path(folder)]
    end(process)


def test_what_an_ending_process_makes_is_removed_too(tmp_path: Path) -> None:
    """gdb may use a folder of ours until it has ended."""
    busy = "trap '' TERM; while :; do mkdir -p \"$0/$$\"; done"
    process, _ = start(
        f"{MAKES}; child = subprocess.Popen(['/bin/sh', '-c', {busy!r}, str(folder)],"
        " start_new_session=True);"
        "afterwards.end(child.pid)",
        tmp_path,
    )
    guard = guard_of(process)
    end(process)
    support.wait_until(lambda: not guard.is_running(), DEADLINE, "the guard has done its duties")
    assert not list(tmp_path.iterdir())


def test_no_folder_is_made_that_could_not_be_removed(tmp_path: Path) -> None:
    base = tmp_path / "two\nlines"
    base.mkdir()
    with pytest.raises(OSError, match="line break"):
        session_folders.make(base)
    assert not list(base.iterdir())


def test_a_path_of_any_characters(tmp_path: Path) -> None:
    base = tmp_path / "a b'c\"$(touch x)\\`\udcff"
    base.mkdir()
    process, _ = start(
        MAKES.replace("make()", f"make(Path({str(base)!r}))").replace("print(folder)", "print()"), tmp_path
    )
    assert list(base.iterdir())
    end(process)
    support.wait_until(lambda: not list(base.iterdir()), DEADLINE, "the folder is gone")


def test_what_is_removed_in_time_leaves_the_rest_to_the_guard(tmp_path: Path) -> None:
    process, line = start(
        "first, _ = session_folders.make(), session_folders.make(); child = stubborn(); afterwards.end(child);"
        "session_folders.remove(first); print(child)",
        tmp_path,
    )
    child = int(line)
    assert len(list(tmp_path.iterdir())) == 1
    end(process)
    support.wait_until(lambda: not list(tmp_path.iterdir()), DEADLINE, "the folder is gone")
    support.wait_until(lambda: not support.is_running(child), DEADLINE, "it was ended")


def test_the_group_of_a_process_that_does_not_end_is_ended_too(tmp_path: Path) -> None:
    """gdb waits for a compiler, say."""
    wait = "trap '' TERM; sleep 1000 & echo $!; wait"
    process, line = start(
        f"child = subprocess.Popen(['/bin/sh', '-c', {wait!r}], start_new_session=True, stdout=-1);"
        "afterwards.end(child.pid); print(child.stdout.readline().decode())",
        tmp_path,
    )
    end(process)
    support.wait_until(lambda: not support.is_running(int(line)), DEADLINE, "it was ended")


def test_what_is_left_of_the_group_of_a_process_that_ended_is_ended_too(tmp_path: Path) -> None:
    """A process that gdb tries ptrace with, say."""
    process, line = start(
        "child = subprocess.Popen(['/bin/sh', '-c', 'sleep 1000 & echo $!; read line'], start_new_session=True,"
        " stdin=-1, stdout=-1); afterwards.end(child.pid); print(child.stdout.readline().decode())",
        tmp_path,
    )
    end(process)
    support.wait_until(lambda: not support.is_running(int(line)), DEADLINE, "it was ended")


def test_the_guard_ends_when_nothing_is_left_to_do(tmp_path: Path) -> None:
    process, _ = start(
        MAKES.replace("print", "[session_folders.remove(folder) for _ in (1, 2)]; print"), tmp_path
    )
    assert psutil.Process(process.pid).children() == []
    assert not list(tmp_path.iterdir())
    end(process)


def test_a_guard_that_somebody_ended_is_replaced(tmp_path: Path) -> None:
    process, _ = start(
        f"{MAKES}\nsys.stdout.flush(); sys.stdin.readline(); session_folders.make(); print(flush=True)",
        tmp_path,
    )
    guard = guard_of(process)
    guard.kill()
    support.wait_until(lambda: guard.status() == psutil.STATUS_ZOMBIE, DEADLINE, "the guard is dead")
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    process.stdout.readline()
    assert len(list(tmp_path.iterdir())) == 2
    end(process)
    support.wait_until(lambda: not list(tmp_path.iterdir()), DEADLINE, "both folders are gone")


def test_the_next_start_removes_what_a_dead_session_has_left(tmp_path: Path) -> None:
    """Also its guard was ended: a logout, or a container that was stopped."""
    process, dead = start(MAKES, tmp_path)
    guard_of(process).kill()
    end(process)
    living, alive = start(MAKES, tmp_path)
    support.wait_until(lambda: not Path(dead).exists(), DEADLINE, "the folder of the dead one is gone")
    assert Path(alive, "sub", "x").exists()
    assert session_folders.sweep(tmp_path) == []
    assert Path(alive, "sub", "x").exists()
    end(living)


def test_what_is_not_certainly_of_a_dead_session_stays(tmp_path: Path) -> None:
    def folder(name: str) -> Path:
        path = tmp_path / name
        path.mkdir(mode=0o700)
        (path / "held").touch()
        return path

    other = folder("dualdbg-1-of-another-user")
    if os.geteuid() == 0:
        os.chown(other, 65534, -1)
    else:
        (other / "held").unlink()
    folder("dualdbg-1-open-to-all").chmod(0o777)
    (folder("dualdbg-1-no-lock") / "held").unlink()
    (folder("dualdbg-1-link-for-lock") / "held").unlink()
    (tmp_path / "dualdbg-1-link-for-lock" / "held").symlink_to(tmp_path / "dualdbg-1-no-lock")
    folder("mine")
    (tmp_path / "dualdbg-1-link").symlink_to(tmp_path / "mine")
    (tmp_path / "dualdbg-1-file").touch()
    before = sorted(tmp_path.iterdir())
    assert session_folders.sweep(tmp_path) == []
    assert sorted(tmp_path.iterdir()) == before
    ours = folder("dualdbg-1-ours")
    assert session_folders.sweep(tmp_path) == [ours]


@pytest.mark.parametrize(("number", "when"), [(0, "soon"), (signal.SIGSTOP, "in time")])
def test_a_process_that_does_not_end_is_ended(number: int, when: str, tmp_path: Path) -> None:
    process, line = start("child = stubborn(); print(child, afterwards.end(child))", tmp_path, when)
    child = int(line.split()[0])
    os.kill(child, number)
    end(process)
    support.wait_until(lambda: not support.is_running(child), DEADLINE, "it was ended")


def test_a_number_that_is_anothers_by_now_is_left_alone(tmp_path: Path) -> None:
    process, line = start(
        "child = stubborn(); afterwards.began_at = lambda pid: 1; afterwards.end(child); print(child)",
        tmp_path,
    )
    child = int(line)
    guard = guard_of(process)
    end(process)
    support.wait_until(lambda: not guard.is_running(), DEADLINE, "the guard has done its duties")
    assert support.is_running(child)
    os.killpg(child, signal.SIGKILL)


@pytest.mark.parametrize("hang", ["sys.stdin.read()", "import threading; threading.Event().wait()"])
def test_a_dualdbg_that_does_not_end_is_ended_and_others_clear_up(hang: str, tmp_path: Path) -> None:
    code = MAKES.replace(
        "print", f"afterwards._LAST_DEADLINE = 1; afterwards.end_us_at_last(143); print(folder); {hang} #"
    )
    process, folder = start(code, tmp_path)
    assert Path(folder).exists()
    with process:
        assert process.wait(DEADLINE) == 143
    support.wait_until(lambda: not list(tmp_path.iterdir()), DEADLINE, "the folder is gone")


ASKS = {
    "an interpreter": "from dualdbg.system.in_thread import run; run([{script!r}], timeout=1000)",
    "gdb, for lines": "from dualdbg.symbols.source_lines import SourceLines;"
    "from dualdbg.symbols.objfile import Objfile;"
    "SourceLines({script!r}, 1000.0).look_up({{Objfile.open(Path('/bin/sh')): {{1}}}})",
    "gdb, by the doctor": "from dualdbg.target import doctor; doctor.check_gdb({script!r})",
}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("asks", ASKS.values(), ids=ASKS.keys())
def test_what_was_asked_something_ends_with_us(asks: str, how: int, tmp_path: Path) -> None:
    """One that is a script and hangs, say, before there is a session."""
    told, script = tmp_path / "told", tmp_path / "script"
    script.write_text(f"#!/bin/sh\nsleep 100 & echo $! > {told}; wait\n")
    script.chmod(0o755)
    process, said = start(
        "end = afterwards.end; afterwards.end = lambda pid: [end(pid), print('to be ended', flush=True)][0];"
        + asks.format(script=str(script))
        + "; print('was not to be ended', flush=True)",
        tmp_path,
    )
    assert said == "to be ended"
    support.wait_until(lambda: told.exists() and told.read_text().endswith("\n"), DEADLINE, "it was started")
    end(process, how)
    child = int(told.read_text())
    support.wait_until(lambda: not support.is_running(child), DEADLINE, "it was ended")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user, for whom limits count")
def test_the_guard_does_its_duties_where_no_process_is_to_be_had() -> None:
    """Dash ends at a fork that fails, and everything would stay."""
    user = 61_000 + os.getpid() % 1000
    folder = Path(tempfile.mkdtemp(prefix="no-processes-", dir="/tmp"))
    os.chown(folder, user, user)
    as_user: dict[str, Any] = {"user": user, "group": user, "extra_groups": [], "start_new_session": True}
    try:
        for name in ("one", "two words"):
            (folder / name / "sub").mkdir(parents=True)
            os.chown(folder / name, user, user)
            os.chown(folder / name / "sub", user, user)
        child = subprocess.Popen(["/bin/sh", "-c", "trap '' TERM; exec sleep 1000"], **as_user)
        duties = [f"end {child.pid} {afterwards.began_at(child.pid)}", f"remove {folder}/one", "drop"]
        lines = [
            f"{number} {duty}\n" for number, duty in enumerate([*duties, f"remove {folder}/two words"], 1)
        ]
        with subprocess.Popen(
            ["/bin/sh", "-c", afterwards._SCRIPT], stdin=subprocess.PIPE, text=True, **as_user
        ) as guard:
            support.limit_processes(guard.pid)
            guard.communicate("".join(lines), timeout=patient(60))
        assert child.wait(DEADLINE) == -signal.SIGKILL
        assert list(folder.iterdir()) == []
    finally:
        shutil.rmtree(folder, ignore_errors=True)
