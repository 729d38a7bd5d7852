"""However a session ends, or gdb: a process that was attached to goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.attach.driver import (
    answer_of,
    attached,
    in_state,
    is_traced_by_gdb,
    state_of,
    tracer_of,
    traps_in,
)
from tests.support import other_interpreter, wait_until


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
            gdb.wait(patient(60))
            session.wait(patient(60))
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
            session.communicate(timeout=patient(60))
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
        time.sleep(1)  # long, for a thread that waits for the GIL is not frozen
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


# The import of the debugger stands still until a later session's code waits for it, or until "go".
IMPORTS = """\
import os, sys, time
folder = sys.argv[1]
before = sys.breakpointhook
def is_free():
    if os.path.exists(os.path.join(folder, "go")):
        return True
    for frame in list(sys._current_frames().values()):
        if frame.f_code.co_name == "acquire" and "importlib" in frame.f_code.co_filename:
            return True
    return False
def hook(event, arguments):
    if event == "open" and os.path.basename(str(arguments[0])).startswith("pydevd_comm."):
        print("imports", flush=True)
        while not is_free():
            time.sleep(0.01)
def tick():
    time.sleep(0.01)
sys.addaudithook(hook)
print("ready", flush=True)
while not os.path.exists(os.path.join(folder, "end")):
    tick()
print(sys.breakpointhook is before, flush=True)
"""


@pytest.mark.parametrize("version", rows.versions())
@pytest.mark.parametrize("another", [True, False])
def test_a_session_is_cut_off_while_the_program_imports_the_debugger(
    tmp_path: Path, version: str, another: bool
) -> None:
    """The code of the next session waits for that of the first; without one nothing is left."""
    command = [str(other_interpreter(version)), "-c", IMPORTS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            with attached(process.pid, "-x", "continue") as session:
                assert process.stdout.readline() == "imports\n"
                session.kill()
            wait_until(lambda: tracer_of(process.pid) == 0, 60, "gdb is gone")
            if another:
                with attached(process.pid, "-b", "py:tick", "-x", "continue", "-x", "del 1") as session:
                    assert session.stdout is not None
                    told = (line for line in session.stdout if "not possible" in line or "* Break" in line)
                    assert next(told).startswith("* Breakpoint 1: Python")
            (tmp_path / "go").touch()
            tasks = Path(f"/proc/{process.pid}/task")
            wait_until(lambda: len(list(tasks.iterdir())) == 1, 60, "its own thread alone")
            (tmp_path / "end").touch()
            assert process.stdout.read() == "True\n"
        finally:
            process.kill()
