"""``dualdbg attach`` on processes in every state: what works at once, what comes by itself, and what is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import rows
from tests.snapshot.test_command import dualdbg
from tests.support import build_native, other_interpreter, read_ready, wait_until

PROGRAM = Path(__file__).parent / "programs" / "states.py"


@contextmanager
def in_state(
    kind: str, python: str | Path = sys.executable, seconds: float = 0.0
) -> Iterator[subprocess.Popen[str]]:
    """The program, standing in the state ``kind``; a byte on its input frees it."""
    path = str(build_native(python)) if kind.startswith("native") else ""
    with subprocess.Popen(
        [str(python), str(PROGRAM), kind, str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        try:
            read_ready(process)
            yield process
        finally:
            process.kill()


def attach(pid: int, *words: str) -> subprocess.CompletedProcess[str]:
    return dualdbg("attach", str(pid), "--no-stacks", "--batch", *words)


@contextmanager
def attached(pid: int, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A dualdbg that attaches and runs commands, beside the test."""
    with subprocess.Popen(
        [sys.executable, "-m", "dualdbg", "attach", str(pid), "--no-stacks", "--batch", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as session:
        try:
            yield session
        except BaseException:
            session.kill()  # it may wait for what the test has not done
            raise


def tracer_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("TracerPid")).split()[1])


def is_traced_by_gdb(pid: int) -> bool:
    """Before gdb attaches, dualdbg itself tries for a moment whether that is allowed."""
    try:
        return Path(f"/proc/{tracer_of(pid)}/comm").read_text() == "gdb\n"
    except FileNotFoundError:  # nobody's, or of a moment ago
        return False


def answer_of(process: subprocess.Popen[str]) -> str:
    """What the program says of itself once it is freed."""
    output, _ = process.communicate("x", timeout=30)
    assert process.returncode == 0
    return output


@pytest.mark.parametrize("version", rows.versions())
def test_python_control_of_a_busy_program(version: str) -> None:
    python = other_interpreter(version)
    with in_state("busy", python) as process:
        done = attach(process.pid, "-b", "py:tick", "-x", "continue", "-x", "bt", "-x", "del 1")
        assert "Breakpoint 1: Python" in done.stdout, done.stdout + done.stderr
        assert "py   busy" in done.stdout
        assert tracer_of(process.pid) == 0
        left = answer_of(process)
        assert "pydevd" not in left
        assert "[None, None, None]" in left  # no trace function, no monitoring tool
        assert " True [" in left  # signal dispositions as before


def test_an_interpreter_called_by_a_relative_path(tmp_path: Path) -> None:
    """It is looked for from the program's own folder, not from ours."""
    (tmp_path / "python").symlink_to(sys.executable)
    with subprocess.Popen(
        ["./python", str(PROGRAM), "busy"],
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


def test_python_control_of_a_sleeping_program() -> None:
    with in_state("long_asleep") as process:
        done = attach(process.pid, "-x", "bt", "--json")
        assert '"function": "long_asleep"' in done.stdout
        assert "Python control comes once the target runs" in done.stdout
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


@pytest.mark.parametrize("victim", ["gdb", "dualdbg", "both"])
def test_any_death_on_our_side(victim: str) -> None:
    """A breakpoint is inserted when gdb or dualdbg is killed; the program calls that function afterwards."""
    with in_state("native_without_gil") as process:
        with attached(
            process.pid, "-b", "PyNumber_Add", "-b", "PyLong_FromLong", "-x", "continue"
        ) as session:
            pid = process.pid
            wait_until(lambda: tracer_of(pid) != 0, 60, "gdb is attached")
            wait_until(lambda: state_of(pid) == "S" and traps_in(pid), 60, "it runs with breakpoints in it")
            gdb = tracer_of(pid)
            if victim in ("dualdbg", "both"):
                session.kill()
            if victim in ("gdb", "both"):
                os.kill(gdb, signal.SIGKILL)
            session.wait()
            wait_until(lambda: tracer_of(pid) == 0 and not traps_in(pid), 60, "its code is as it was")
        assert "left" in answer_of(process)


# Code of dualdbg runs in its main thread, which slept, when it says so; it ends when it is told to.
VISITED = """\
import os, sys, time
folder = sys.argv[1]
def hook(event, arguments):
    if event == "open" and str(arguments[0]).endswith("attach.py"):
        print("visited", flush=True)
        while not os.path.exists(os.path.join(folder, "go")):
            time.sleep(0.01)
sys.addaudithook(hook)
print("ready", flush=True)
while not os.path.exists(os.path.join(folder, "end")):
    time.sleep(0.2)
print("left", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_gdb_is_ended_while_the_program_runs_code_of_ours(tmp_path: Path, number: signal.Signals) -> None:
    """The thread returns from the call to where it was, and only then gdb goes."""
    with subprocess.Popen(
        [sys.executable, "-c", VISITED, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        with attached(process.pid, "-x", "continue") as session:
            assert process.stdout.readline() == "visited\n"
            gdb = psutil.Process(tracer_of(process.pid))
            gdb.send_signal(number)
            (tmp_path / "go").touch()
            gdb.wait(60)
            session.wait(60)
        (tmp_path / "end").touch()
        assert "left\n" in process.stdout.read()
        assert process.stderr.read() == ""  # also where pydevd had begun, and found nobody to talk to
        assert process.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("stuck", ["stopped", "busy"])
def test_the_end_of_a_session_whose_gdb_does_not_answer(stuck: str, number: signal.Signals) -> None:
    """gdb is stopped by somebody (SIGSTOP), or busy for ever: what it held is let go of all the same."""
    sleep = ["-x", "gdb python import time; time.sleep(600)"]
    commands = {"stopped": ["-x", "continue"], "busy": sleep}
    with in_state("native_without_gil") as process:
        with attached(
            process.pid, "-b", "PyNumber_Add", "-b", "PyLong_FromLong", *commands[stuck]
        ) as session:
            pid = process.pid
            if stuck == "stopped":
                wait_until(
                    lambda: state_of(pid) == "S" and traps_in(pid), 60, "it runs with breakpoints in it"
                )
                os.kill(tracer_of(pid), signal.SIGSTOP)
            else:
                wait_until(lambda: is_traced_by_gdb(pid), 60, "gdb is attached")
                gdb = psutil.Process(tracer_of(pid))
                wait_until(
                    lambda: gdb.status() == psutil.STATUS_SLEEPING and sleeps(gdb.pid), 60, "gdb is busy"
                )
            session.send_signal(number)
            session.communicate(timeout=60)
            assert session.returncode == (-9 if number == signal.SIGKILL else 128 + number)
            wait_until(lambda: tracer_of(pid) == 0 and not traps_in(pid), 60, "its code is as it was")
            wait_until(lambda: state_of(pid) == "S", 60, "it runs")
        assert "left" in answer_of(process)


def sleeps(pid: int) -> bool:
    """Whether the main thread is in clock_nanosleep, which gdb itself never uses."""
    return Path(f"/proc/{pid}/wchan").read_text() in ("hrtimer_nanosleep", "common_nsleep")


# Its threads call the function all the time, and compare what it says.
HOT = """\
import os, sys, threading
def work():
    return sum(os.getsid(0) for _ in range(50))
right, end, wrong = work(), threading.Event(), []
def loop():
    while not end.is_set():
        if work() != right:
            wrong.append(1)
threads = [threading.Thread(target=loop) for _ in range(3)]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.read(1)
end.set()
for thread in threads:
    thread.join()
print("left", wrong)
"""


def test_our_death_while_threads_meet_a_breakpoint() -> None:
    """Each that stands behind the trap, and was not looked at yet, goes on with the instruction that was there."""
    with subprocess.Popen(
        [sys.executable, "-c", HOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            with attached(process.pid, "-b", "getsid if 0", "-x", "c") as session:
                pid = process.pid
                wait_until(lambda: tracer_of(pid) != 0, 60, "gdb is attached")
                wait_until(lambda: traps_in(pid), 60, "the breakpoint is in it")
                session.kill()
                wait_until(lambda: tracer_of(pid) == 0 and not traps_in(pid), 30, "its code is as it was")
            assert answer_of(process) == "left []\n"
        finally:
            process.kill()


PPOLL = {"x86_64": "271 ", "aarch64": "73 "}[os.uname().machine]
TWO_THREADS = """\
import sys, threading, time
beats = 0
def beat():
    global beats
    print(threading.get_native_id(), flush=True)
    while True:
        beats += 1
        time.sleep(0.05)
threading.Thread(target=beat, daemon=True).start()
for line in sys.stdin:
    print(beats, flush=True)
"""


def test_our_death_while_a_thread_is_frozen() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TWO_THREADS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdin is not None
            pid, tid = process.pid, int(process.stdout.readline())
            with attached(pid, "-x", f"freeze {tid}", "-x", "continue") as session:
                call = Path(f"/proc/{pid}/task/{tid}/syscall")
                wait_until(lambda: call.read_text().startswith(PPOLL), 60, "the thread waits in ppoll")
                session.kill()
            wait_until(lambda: tracer_of(pid) == 0, 30, "it is let go of")

            def beats() -> int:
                assert process.stdout is not None and process.stdin is not None
                process.stdin.write("\n")
                process.stdin.flush()
                return int(process.stdout.readline())

            first = beats()
            wait_until(lambda: beats() > first, 20, "the thread goes on")
        finally:
            process.kill()


@pytest.mark.parametrize("was_stopped", [False, True])
def test_a_stop_that_a_dead_gdb_left(was_stopped: bool) -> None:
    """gdb's own SIGSTOP, not yet taken when gdb dies, would stop the process for good."""
    from dualdbg.snapshot.linux.repair import repair

    with in_state("busy") as process:
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: state_of(process.pid) == "T", what="stopped")
        repair(process.pid, was_stopped)
        wait_until(lambda: (state_of(process.pid) == "T") is was_stopped, what="as it was before")
        process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("threads", [1, 4])
def test_the_end_of_such_a_stop_is_no_signal_for_the_program(threads: int) -> None:
    from dualdbg.snapshot.linux.repair import repair

    code = (
        "import signal, sys, threading, time\n"
        "signal.signal(signal.SIGCONT, lambda number, frame: print('got SIGCONT', flush=True))\n"
        f"for _ in range({threads} - 1): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read(1)\n"
        "print('left', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            for _ in range(3):
                process.send_signal(signal.SIGSTOP)
                wait_until(lambda: state_of(process.pid) == "T", what="stopped")
                repair(process.pid, False)
                wait_until(lambda: state_of(process.pid) == "S", what="it runs")
                assert tracer_of(process.pid) == 0
            assert answer_of(process) == "left\n"
        finally:
            process.kill()


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def traps_in(pid: int) -> int:
    from dualdbg.snapshot.linux.repair import find_traps

    return len(find_traps(pid))


def test_refusals() -> None:
    with in_state("busy") as process:
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
                assert "nothing would stop the program: all breakpoints are in Python code, and " in said, (
                    done
                )
                assert "there is no Python interpreter in this process" in said
                assert process.poll() is None and tracer_of(process.pid) == 0
            with attached(process.pid, "-b", place, "-b", "exit", "-x", "continue") as session:
                wait_until(lambda: is_traced_by_gdb(process.pid), 60, "gdb is attached")
                wait_until(lambda: state_of(process.pid) == "S" and traps_in(process.pid), 60, "it runs")
                process.terminate()
                output, _ = session.communicate(timeout=60)
                assert "nothing would stop" not in output and session.returncode != 3, output
        finally:
            process.kill()


@pytest.mark.slow
def test_cycles() -> None:
    """Attach and detach again and again: the program goes on, without a thread or a descriptor more than before."""
    with in_state("busy") as process:
        threads = descriptors = 0
        for cycle in range(3):
            assert attach(process.pid, "-b", "py:tick", "-x", "continue", "-x", "del 1").returncode == 0
            wait_until(
                lambda: len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 1,
                10,
                "its own thread alone",
            )
            now = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
            if cycle == 0:
                threads, descriptors = 1, now
            assert now == descriptors
        assert threads == 1
        assert "[None, None, None]" in answer_of(process)


def test_a_second_session_begins_without_a_stop_of_the_first() -> None:
    """From 3.12 on a function is met again while the first one lets go, and pydevd keeps the wish to stop there."""
    python = other_interpreter("3.13")
    with in_state("busy", python) as process:
        for _ in range(3):
            done = attach(process.pid, "-b", "py:tick", "-x", "continue")
            assert "* Breakpoint 1: Python" in done.stdout, done.stdout + done.stderr


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
    with in_state("busy") as process:
        logs = tmp_path / "logs"
        done = attach(process.pid, "-b", "py:tick", "-x", "continue", "--log-dir", str(logs))
        talk = [(logs / f"{name}.log").read_text()[-4000:] for name in ("session", "debugpy")]
        assert "Breakpoint 1: Python" in done.stdout, "\n".join([done.stdout, done.stderr, *talk])
        done = subprocess.run([*words, str(process.pid)], capture_output=True, timeout=120, **place)
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
