"""``dualdbg attach`` on processes in every state: what works at once, what comes by itself, and what is left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.attach.driver import (
    PROGRAM,
    answer_of,
    attach,
    attached,
    in_state,
    is_traced_by_gdb,
    state_of,
    tracer_of,
    traps_in,
)
from tests.snapshot.test_command import dualdbg
from tests.support import other_interpreter, read_ready, wait_until


@pytest.mark.slow
@pytest.mark.parametrize("version", rows.versions())
def test_busy_program_is_attached_to_again_and_again_and_keeps_nothing(version: str) -> None:
    """Each session stops: from 3.12 on a function is met again while the one before lets go, and pydevd keeps the wish
    to stop there. The program has no thread, descriptor, module, trace function or signal handler more than before."""
    with in_state("busy", other_interpreter(version)) as process:
        folder, counts = Path(f"/proc/{process.pid}"), set()
        for _ in range(3):
            done = attach(process.pid, "-b", "py:tick", "-x", "continue", "-x", "bt", "-x", "del 1")
            assert done.returncode == 0
            assert "* Breakpoint 1: Python" in done.stdout, done.stdout + done.stderr
            assert "py   busy" in done.stdout
            assert tracer_of(process.pid) == 0
            wait_until(lambda: len(list((folder / "task").iterdir())) == 1, 10, "its own thread alone")
            counts.add(len(list((folder / "fd").iterdir())))
        assert len(counts) == 1
        left = answer_of(process)
        assert "pydevd" not in left
        assert "[None, None, None]" in left  # no trace function, no monitoring tool
        assert " True [" in left  # signal dispositions as before


def test_an_interpreter_called_by_a_relative_path(tmp_path: Path) -> None:
    """It is looked for from the program's own folder, not from ours."""
    (tmp_path / "python").symlink_to(sys.executable)
    with subprocess.Popen(
        ["./python", str(PROGRAM), "working"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            read_ready(process)
            done = attach(process.pid, "-b", "py:tick", "-x", "continue")
            assert "Breakpoint 1: Python" in done.stdout, done.stdout + done.stderr
        finally:
            process.kill()


@pytest.mark.parametrize("version", rows.some(["3.8", "3.13", ""], 2))
def test_sleeping_program_is_controlled_once_it_runs_by_a_thread_that_is_not_listed(version: str) -> None:
    with in_state("long_asleep", other_interpreter(version) if version else Path(sys.executable)) as process:
        there = {int(entry.name) for entry in Path(f"/proc/{process.pid}/task").iterdir()}
        done = attach(process.pid, "-x", "bt", "-x", "threads", "--json")
        assert '"function": "long_asleep"' in done.stdout
        assert "Python breakpoints work once the program runs on" in done.stdout
        [listed] = (json.loads(line) for line in done.stdout.splitlines() if '"event": "threads"' in line)
        assert {row["tid"] for row in listed["threads"]} == there
        assert process.poll() is None
        assert tracer_of(process.pid) == 0


@pytest.mark.parametrize(
    ("kind", "version", "reason"),
    [
        ("native_with_gil", "", "holds the GIL in native code"),
        ("native_without_gil", "", "the main thread is in native code"),
        # From 3.12 on any thread may do it, but there is only one.
        ("native_without_gil", "3.13", "the main thread is in native code"),
    ],
)
def test_it_comes_by_itself_when_a_stuck_thread_is_freed(kind: str, version: str, reason: str) -> None:
    python = other_interpreter(version) if version else Path(sys.executable)
    with in_state(kind, python, seconds=10) as process:
        with attached(process.pid, "-b", "py:tick", "-x", "continue", "-x", "bt", "-x", "del 1") as session:
            assert session.stdout is not None
            said = ""
            for line in session.stdout:
                said += line
                if "Paused: native" in line:
                    break
            assert reason in said
            assert "sample::read_byte" in said
            assert process.stdin is not None
            process.stdin.write("x")
            process.stdin.flush()
            rest = session.stdout.read()
        assert "Python control is there" in rest
        assert "Breakpoint 1: Python" in rest
        assert "py   main" in rest


@pytest.mark.parametrize("version", rows.versions()[1:])  # 3.8 would run it in the other interpreter
def test_it_comes_once_the_main_interpreter_runs_again(version: str) -> None:
    with in_state("sub_interpreter", other_interpreter(version), seconds=10) as process:
        with attached(process.pid, "-b", "py:tick", "-x", "continue", "-x", "bt", "-x", "del 1") as session:
            assert session.stdout is not None and process.stdin is not None
            said = ""
            for line in session.stdout:
                said += line
                if "Paused: native" in line:
                    break
            assert "no thread runs the main interpreter's code; it comes by itself when one does" in said
            process.stdin.write("x")
            process.stdin.flush()
            rest = session.stdout.read()
        assert "Python control is there" in rest, rest
        assert "Breakpoint 1: Python" in rest and "py   main" in rest


def test_refusals() -> None:
    with in_state("working") as process:
        with attached(process.pid, "-x", "continue") as first:
            try:
                wait_until(lambda: tracer_of(process.pid) != 0, 60, "the first one is attached")
                second = attach(process.pid)
                assert second.returncode == 3
                assert f"is traced by process {tracer_of(process.pid)} (gdb)" in second.stderr
            finally:
                first.send_signal(signal.SIGTERM)
        wait_until(lambda: tracer_of(process.pid) == 0, 60, "let go")
    gone = attach(process.pid)
    assert gone.returncode == 3
    assert f"process {process.pid}" in gone.stderr
    assert dualdbg("attach", "x").returncode == 2


# As a packed program is (PyInstaller): it has of the standard library what it imports itself.
PACKED = """
import os, socket, sys, time
sys.modules.pop("__future__", None)
if sys.argv[1] == "json":
    import __future__, importlib.util, threading, traceback
sys.path.clear()
sys.path_importer_cache.clear()
print("ready", flush=True)
def tick(): time.sleep(0.01)
while True: tick()
"""


@pytest.mark.parametrize("lacking", ["__future__", "json"])
def test_a_program_without_the_whole_standard_library_says_why(lacking: str, tmp_path: Path) -> None:
    script = tmp_path / "packed.py"
    script.write_text(PACKED)
    with subprocess.Popen([sys.executable, script, lacking], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            done = attach(process.pid, "-b", "py:tick", "-x", "continue")
            assert re.search("Python control is not possible: .*No module named", done.stdout), done
        finally:
            process.kill()


def test_a_program_without_python() -> None:
    with subprocess.Popen(["sleep", "100"]) as process:
        try:
            done = attach(process.pid, "-x", "bt")
            assert "no Python interpreter in this process" in done.stdout
            assert "nanosleep" in done.stdout
            assert tracer_of(process.pid) == 0
        finally:
            process.kill()


@pytest.mark.smoke
def test_a_batch_without_commands_looks_and_leaves() -> None:
    with in_state("asleep") as process:
        done = attach(process.pid)
        assert done.returncode == 0
        assert "asleep" in done.stdout
        assert tracer_of(process.pid) == 0


def test_a_batch_does_not_wait_where_nothing_can_stop_the_program(tmp_path: Path) -> None:
    """Python control is refused, and the breakpoint is one of Python. A native one may still be hit."""
    (tmp_path / "loop.py").write_text("while True:\n    pass\n")
    place = f"{tmp_path / 'loop.py'}:1"
    with subprocess.Popen(["sleep", "300"]) as process:
        try:
            for words in (("-x", "continue", "-x", "bt"), ()):
                done = attach(process.pid, "-b", place, *words)
                said = done.stdout + done.stderr
                assert done.returncode == 3, done
                assert "nothing would stop the program: all breakpoints are in Python code, and" in said, done
                # Of the breakpoint, and of the session.
                assert said.count("there is no Python interpreter in this process") == 2, done
                assert process.poll() is None and tracer_of(process.pid) == 0
            with attached(process.pid, "-b", place, "-b", "exit", "-x", "continue") as session:
                wait_until(lambda: is_traced_by_gdb(process.pid), 60, "gdb is attached")
                wait_until(lambda: state_of(process.pid) == "S" and traps_in(process.pid), 60, "it runs")
                process.terminate()
                output, _ = session.communicate(timeout=patient(60))
                assert "nothing would stop" not in output and session.returncode != 3, output
        finally:
            process.kill()


@pytest.mark.parametrize("version", rows.versions())
def test_the_program_keeps_its_modules(version: str, tmp_path: Path) -> None:
    """What debugpy imports from the standard library is never a file of that name beside the script."""
    script = tmp_path / "program.py"
    script.write_text(
        "import threading\nprint('ready pid=%d' % threading.get_native_id(), flush=True)\n"
        "while not hasattr(threading, 'enough'):\n    threading.Event().wait(0.01)\n"
        "print(threading.Thread().name)\n"
    )
    shadows = ("queue", "socket", "random", "code", "platform", "nt")
    for name in shadows:
        (tmp_path / f"{name}.py").write_text(f"print({name!r}, 'was run', flush=True)\n")
    with subprocess.Popen(
        [other_interpreter(version), "-S", script], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            read_ready(process)
            first = ["-b", f"{script}:4", "-x", "continue", "-x", "py setattr(threading, 'enough', 1)"]
            done = attach(process.pid, *first, "-x", "delete", "-x", "detach")
            output, _ = process.communicate(timeout=patient(60))
        finally:
            process.kill()
    assert "Breakpoint 1: Python" in done.stdout, done.stdout + done.stderr
    # A thread of debugpy's may have taken a number while it came: its names are kept where it is launched.
    assert re.fullmatch(r"Thread-\d\n", output), output + done.stdout


def _installed_elsewhere(folder: Path) -> dict[str, str]:
    """The environment of a dualdbg, with a debugpy, that lies in ``folder``."""
    import debugpy

    import dualdbg as ours

    package = Path(debugpy.__file__).parent
    for part in (package, *package.parent.glob("debugpy-*.dist-info"), Path(ours.__file__).parent):
        shutil.copytree(part, folder / part.name)  # links become copies, so shared/ comes along
    shutil.copytree(Path(ours.__file__).parent.parent / "gdb_scripts", folder / "gdb_scripts")
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.mark.slow
def test_two_installations(tmp_path: Path) -> None:
    """What one dualdbg has left in a program another one uses, when it is the same; else it says whose it is."""
    elsewhere = _installed_elsewhere(tmp_path / "other")

    words = [
        sys.executable,
        "-m",
        "dualdbg",
        "attach",
        "--no-stacks",
        "--batch",
        "-b",
        "py:tick",
        "-x",
        "continue",
    ]
    place: dict[str, Any] = {"env": elsewhere, "cwd": tmp_path, "text": True}
    with in_state("working") as process:
        logs = tmp_path / "logs"
        done = attach(process.pid, "-b", "py:tick", "-x", "continue", "--log-dir", str(logs))
        talk = [(logs / f"{name}.log").read_text()[-4000:] for name in ("session", "debugpy")]
        assert "Breakpoint 1: Python" in done.stdout, "\n".join([done.stdout, done.stderr, *talk])
        done = subprocess.run([*words, str(process.pid)], capture_output=True, timeout=patient(120), **place)
        assert "Breakpoint 1: Python" in done.stdout, done.stdout + done.stderr
        with open(tmp_path / "other" / "dualdbg" / "target" / "bootstrap" / "dualdbg_probe.py", "a") as file:
            file.write("# another version\n")
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([*words, str(process.pid)], **streams, **place) as waiting:
            assert waiting.stdout is not None
            told = next((line for line in waiting.stdout if "rejected" in line), "")
            waiting.terminate()
        assert told.startswith("Breakpoint 1 (py:tick): rejected: Python control is not possible: ")
        assert "another dualdbg, of another version, has left its debugpy in the program" in told
