"""Every command in every hostile surrounding: a message and what to type, or it works. Nothing is left behind."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from dualdbg.protocol import dap
from dualdbg.system.patience import patient
from tests.cli.driver import DUALDBG, dualdbg, environment
from tests.cli.surroundings import OTHER_USER, SURROUNDINGS
from tests.support import ROOT, require, wait_until

SECONDS = patient(600.0)
UNFORESEEN = (
    *(
        "Traceback",
        "did not foresee",
        "Exception ignored",
        "never retrieved",
        "never awaited",
        "Loop <",
        "Errno",
    ),
)


@dataclass(frozen=True)
class Place:
    """What the commands need, where another user can read it."""

    folder: Path
    program: Path
    project: Path


# It says nothing of its own where it cannot write.
PROGRAM = """\
import contextlib, os
with contextlib.suppress(OSError): os.write(1, b"hello\\n")
x = 1
"""


@pytest.fixture
def place() -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="surroundings-", dir="/tmp"))
    folder.chmod(0o777)
    program = folder / "program.py"
    program.write_text(PROGRAM)
    (folder / "project").mkdir()
    (folder / "project").chmod(0o777)
    yield Place(folder, program, folder / "project")
    shutil.rmtree(folder)


SLEEPS = "import time; print('ready', flush=True); time.sleep(600)"


def sleeper(place: Place, surrounding: str) -> subprocess.Popen[str]:
    """A Python process of the user who is about to look at it."""
    command = [sys.executable, "-c", SLEEPS]
    if SURROUNDINGS[surrounding].other_user:
        command = SURROUNDINGS["no home"].around(command, place.folder)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, cwd="/")
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    shutil.rmtree(place.folder / "stash", ignore_errors=True)  # in a namespace of its own it is mounted
    return process


@pytest.fixture(scope="module")
def core() -> Iterator[Path]:
    gcore = require(shutil.which("gcore"), "gcore (gdb)")
    folder = Path(tempfile.mkdtemp(prefix="surroundings-core-", dir="/tmp"))
    folder.chmod(0o755)
    with subprocess.Popen([sys.executable, "-c", SLEEPS], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        subprocess.run([gcore, "-o", folder / "core", str(process.pid)], capture_output=True, check=True)
        process.kill()
    path = folder / f"core.{process.pid}"
    path.chmod(0o644)
    yield path
    shutil.rmtree(folder)


HELLO = dap.encode(dap.request(1, "initialize", {"adapterID": "test"}))
COMMANDS: dict[str, list[str]] = {
    "--version": ["--version"],
    "--help": ["--help"],
    "run --help": ["run", "--help"],
    "run": ["run", "--batch", "PROGRAM"],
    "run -b": ["run", "--batch", "-b", "PROGRAM:3", "-x", "bt", "-x", "locals", "PROGRAM"],
    "run from a pipe": ["run", "-b", "PROGRAM:3", "PROGRAM"],
    "run --json": ["run", "--json", "-b", "PROGRAM:3", "-x", "bt", "--batch", "PROGRAM"],
    "attach": ["attach", "--batch", "-x", "bt", "PID"],
    "stacks": ["stacks", "PID"],
    "stacks CORE": ["stacks", "CORE"],
    "ps": ["ps"],
    "core": ["core", "--batch", "-x", "bt", "CORE"],
    "dap": ["dap"],
    "dap --listen": ["dap", "--listen", "0"],
    "resolve": ["resolve", "math.sin"],
    "ops": ["ops", "randn"],
    "libs": ["libs", "PID"],
    "editor": ["editor", "nvim"],
    "vscode init": ["vscode", "init", "PROJECT"],
    "doctor": ["doctor"],
}

# What is promised, where it is more than that the status is one of 0, 2 and 3.
SAYS = ("standard output cannot be written", "> FILE")
CLOSED = ("standard input is closed", "--listen")
PROMISED: dict[tuple[str, str], tuple[int, tuple[str, ...]]] = {
    **{("nothing special", command): (0, ()) for command in COMMANDS},
    **{("stdin closed", command): (0, ()) for command in COMMANDS if command != "dap"},
    **{("stdin null", command): (0, ()) for command in COMMANDS},
    **{("stderr closed", command): (0, ()) for command in COMMANDS},
    **{("stderr full", command): (0, ()) for command in COMMANDS},
    **{("no home", command): (0, ()) for command in COMMANDS},
    **{("a home of 64 kB", command): (0, ()) for command in COMMANDS if command != "doctor"},
    **{("a full home", command): (0, ()) for command in COMMANDS if command != "doctor"},
    **{("a read-only root", command): (0, ()) for command in COMMANDS if command != "vscode init"},
    **{("stdout closed", command): (3, SAYS) for command in COMMANDS},
    **{("stdout full", command): (3, SAYS) for command in COMMANDS},
    **{("stdin and stdout closed", command): (3, SAYS) for command in COMMANDS},
    **{("all closed", command): (3, ()) for command in COMMANDS},
    ("stdin null", "dap"): (2, ("no editor is at the other end", "--listen")),
    ("stdin closed", "dap"): (2, CLOSED),
    ("stdin and stdout closed", "dap"): (2, CLOSED),
    ("stdout closed", "dap"): (2, ("standard output is closed", "--listen")),
    ("all closed", "dap"): (2, ()),
    ("stdout full", "dap"): (2, ("no editor is at the other end", "--listen")),
    ("a read-only root", "vscode init"): (2, ("cannot be written",)),
    **{("3 processes", command): (3, ("3 processes", "ulimit -u")) for command in ("run", "run -b")},
    **{
        ("12 open files", command): (3, ("12 open files", "ulimit -n"))
        for command in ("run", "attach", "core")
    },
    **{
        ("a removed folder", command): (2, ("working directory", "cd to"))
        for command in ("run", "resolve", "libs")
    },
    **{
        ("a removed folder", command): (0, ())
        for command in ("ps", "stacks", "stacks CORE", "--version", "editor")
    },
}


# Where a whole session meets what a short command does not: it writes, opens files, and starts processes.
SESSIONS = (
    *("stdin closed", "stdout closed", "stderr closed", "all closed", "stderr full", "a full home"),
    *("a read-only root", "a removed folder", "20 open files", "3 processes", "6 processes", "no home"),
)


def cells() -> list[Any]:
    """Some surroundings with a whole session, and each with another of the other commands."""
    found = []
    for row, surrounding in enumerate(SURROUNDINGS):
        for column, command in enumerate(COMMANDS):
            always = surrounding in SESSIONS if command == "run -b" else (row + column) % len(COMMANDS) == 0
            marks = [] if always else [pytest.mark.exhaustive]
            marks += [pytest.mark.torch] if command == "ops" else []
            found.append(pytest.param(surrounding, command, marks=marks))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("surrounding", "command"), cells())
def test_a_command_in_a_surrounding(place: Place, core: Path, surrounding: str, command: str) -> None:
    words = COMMANDS[command]
    target = sleeper(place, surrounding) if "PID" in words else None
    known = {
        "PID": str(target.pid) if target else "",
        "CORE": str(core),
        "PROJECT": str(place.project),
    }
    words = [known.get(word, word.replace("PROGRAM", str(place.program))) for word in words]
    try:
        status, out, errors = run(place, surrounding, words)
        if target is not None:
            assert target.poll() is None, "the process that was looked at has ended"
            assert psutil.Process(target.pid).status() != psutil.STATUS_STOPPED
    finally:
        if target is not None:
            assert target.stdout is not None
            target.kill()
            target.wait()
            target.stdout.close()
    shown = f"status {status}\n{out[-2000:]}\n{errors[-2000:]}"
    for words_of_trouble in UNFORESEEN:
        assert words_of_trouble not in out + errors, shown
    listens = command == "dap --listen"
    allowed = (0, 2, 3, *([128 + signal.SIGTERM] if listens else []))
    assert status in allowed, shown
    promised, said = PROMISED.get((surrounding, command), (None, ()))
    if promised is not None and not listens:
        assert status == promised, shown
        for text in said:
            assert text in errors, shown
    silent = surrounding in ("stderr closed", "all closed", "stderr full")
    if status in (2, 3) and not silent and command != "doctor" and "--json" not in words:
        first, *rest = [line for line in errors.splitlines() if line]
        assert first.startswith("dualdbg: "), shown
        assert any(line.startswith("  ") for line in rest), f"no hint: {shown}"


def run(place: Place, surrounding: str, words: list[str]) -> tuple[int, str, str]:
    """Status, standard output and standard error."""
    listens = "--listen" in words
    folder = place.folder / "home"
    folder.mkdir()
    folder.chmod(0o777)
    process = subprocess.Popen(
        SURROUNDINGS[surrounding].around([*DUALDBG, *words], folder),
        cwd=place.folder,
        env=environment({"PYTHONDONTWRITEBYTECODE": "1"}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if listens:
        wait_until(lambda: process.poll() is not None or _listens(process.pid), SECONDS, "it listens")
        if process.poll() is None:
            process.terminate()
    given = HELLO if words == ["dap"] else b"bt\ncontinue\n" if words[0] == "run" else b""
    try:
        out, errors = process.communicate(given, SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"{words} did not end within {SECONDS} s") from None
    return process.returncode, out.decode("utf-8", "replace"), errors.decode("utf-8", "replace")


def _listens(pid: int) -> bool:
    """Whether the process, which took the place of the wrappers around it, listens on a port."""
    try:
        return any(one.status == psutil.CONN_LISTEN for one in psutil.Process(pid).net_connections("tcp"))
    except psutil.NoSuchProcess:
        return False


def test_the_other_user_is_nobody() -> None:
    with pytest.raises(KeyError):
        pwd.getpwuid(OTHER_USER)
    assert os.getuid() != OTHER_USER


def test_what_is_called_like_a_module_of_the_standard_library_is_for_the_program(tmp_path: Path) -> None:
    """A folder of PYTHONPATH, and that where ``python -m dualdbg`` is typed: nothing of it is run by us."""
    env = {**environment(), "PYTHONPATH": f"lib:{ROOT}"}
    (tmp_path / "lib").mkdir()
    (tmp_path / "begun.py").write_text("import sys\nprint(*sys.modules)")
    words = [sys.executable, "-m", "begun"]
    begun = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout
    own = {*begun.split(), "sitecustomize", "usercustomize", "__future__"}
    for folder in (tmp_path, tmp_path / "lib"):
        for name in sys.stdlib_module_names - own:
            (folder / f"{name}.py").write_text("raise SystemExit('run: ' + __name__)")
    (tmp_path / "program.py").write_text("print('begins')\nimport random")
    words = [sys.executable, "-m", "dualdbg", "run", "--batch", "program.py"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.stderr, done.returncode) == ("run: random\n", 1), done
    assert "begins" in done.stdout.splitlines()


def test_a_file_whose_name_begins_with_a_tilde(tmp_path: Path) -> None:
    path = tmp_path / "~tilde.py"
    path.write_text("x = 1\ny = 2\n")
    done = dualdbg("run", "--batch", "--json", "-b", "~tilde.py:2", "~tilde.py", cwd=tmp_path)
    assert done.status == 0, done
    assert len(done.of("stopped")) == 1, done


@pytest.mark.parametrize(
    "words", [["-b", "~tilde.py:2"], ["--config", "~tilde/x.toml"], ["--python", "~tilde/python"]]
)
def test_a_home_that_nobody_has(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "program.py").write_text("")
    done = dualdbg("run", "--batch", *words, "program.py", cwd=tmp_path)
    assert done.status in (0, 2), done
    assert "did not foresee" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "before", [["--batch"], ["--batch", "-b", "getsid"], ["--native", "--batch", sys.executable]]
)
def test_a_program_has_the_descriptors_that_dualdbg_was_started_with(
    before: list[str], tmp_path: Path
) -> None:
    """A shell's ``<(command)``, for one: its end of the pipe has a number that is named as an argument."""
    (tmp_path / "program.py").write_text(
        "import os, sys\nprint(open(int(sys.argv[1])).read())\nos.getsid(0)\n"
    )
    ours, theirs = os.pipe()
    os.write(theirs, b"passed on")
    os.close(theirs)
    try:
        done = subprocess.run(
            [*DUALDBG, "run", *before, "program.py", str(ours)],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            pass_fds=[ours],
        )
    finally:
        os.close(ours)
    assert "passed on\n" in done.stdout, done
