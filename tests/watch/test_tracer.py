"""Processes that are traced while they run at full speed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from dualdbg.known.python_files import is_interpreter
from dualdbg.system.patience import patient
from dualdbg.watch.tracer import ChildKilled, Dying, Ended, Programs, SignalInfo, Tracer


class Traced:
    """A Python program that begins once it is traced."""

    def __init__(self, code: str, programs: Programs = Programs.NONE, exits: bool = False) -> None:
        self.tracer = Tracer(programs, exits)
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"input()\n{code}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.tracer.seize(self.process.pid)
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def events(self) -> Iterator[Dying | Ended | ChildKilled]:
        """All of them, up to the end of the program."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for event in self.tracer.events():
                yield event
                if isinstance(event, Ended) and event.pid == self.process.pid:
                    return
            time.sleep(0.001)
        pytest.fail("the program did not end")

    def close(self) -> str:
        """What it has written."""
        self.tracer.let_go()
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        with self.process.stdout:
            return self.process.stdout.read()


def _run(code: str, programs: Programs = Programs.NONE) -> tuple[list[Dying], int, str]:
    traced = Traced(code, programs)
    dying, status = [], 0
    for event in traced.events():
        if isinstance(event, Dying):
            dying.append(event)
            assert event.tid in traced.tracer.hold(event.pid)
            traced.tracer.let_die(event)
        elif event.pid == traced.process.pid:
            status = os.waitstatus_to_exitcode(event.status)
    return dying, status, traced.close()


def test_threads_and_signals_pass_by() -> None:
    code = """
import os, signal, threading
seen = []
signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
for _ in range(50):
    threads = [threading.Thread(target=os.getpid) for _ in range(8)]
    for thread in threads: thread.start()
    os.kill(os.getpid(), signal.SIGUSR1)
    for thread in threads: thread.join()
print(len(seen))
raise SystemExit(7)
"""
    assert _run(code) == ([], 7, "50\n")


@pytest.mark.smoke
def test_a_deadly_signal_stops_once() -> None:
    dying, status, _ = _run("import ctypes\nctypes.string_at(64)")
    assert status == -signal.SIGSEGV
    (one,) = dying
    assert one.info == SignalInfo(signal.SIGSEGV, address=64)


def test_a_signal_that_is_handled_or_ignored_is_not_deadly() -> None:
    code = """
import os, signal
for number in (signal.SIGFPE, signal.SIGILL, signal.SIGTRAP):
    signal.signal(number, lambda *_: None)
    os.kill(os.getpid(), number)
signal.signal(signal.SIGABRT, signal.SIG_IGN)
os.kill(os.getpid(), signal.SIGABRT)
print("alive")
"""
    assert _run(code) == ([], 0, "alive\n")


# (a program, the status with which it ends, as that of wait(2))
EXITS = [
    ("raise SystemExit(7)", 7 << 8),
    ("import os, threading\nthreading.Thread(target=os._exit, args=(3,)).start()\nwhile True: pass", 3 << 8),
    ("import os\nos.kill(os.getpid(), 9)", 9),
    ("import os, sys, threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
     "os.execv(sys.executable, ['python', '-c', 'import sys; sys.exit(5)'])", 5 << 8),
]  # fmt: skip


@pytest.mark.parametrize(("code", "status"), EXITS)
def test_a_process_that_exits_is_told_while_its_memory_is_there(code: str, status: int) -> None:
    traced = Traced(code, exits=True)
    told: list[tuple[int | None, bool]] = []
    for event in traced.events():
        if isinstance(event, Dying):
            held = traced.tracer.hold(event.pid)
            with open(f"/proc/{event.tid}/maps") as file:
                told.append((event.status, event.tid in held and bool(file.read())))
            traced.tracer.let_die(event)
        else:
            assert isinstance(event, Ended) and event.status == status
    assert told == [(status, True)]
    traced.close()


def test_an_untraced_child_that_a_signal_ends_is_told() -> None:
    code = "import subprocess\nfor number in 9, 11: subprocess.run(['sh', '-c', f'kill -{number} $$'])"
    traced = Traced(code)
    told = [event.number for event in traced.events() if isinstance(event, ChildKilled)]
    assert told == [signal.SIGSEGV]  # who sends SIGKILL knows
    traced.close()


@pytest.mark.parametrize(("programs", "told"), [("NONE", 0), ("PYTHON", 1), ("ALL", 2)])
def test_forks_are_traced_and_other_programs_where_that_is_asked_for(programs: str, told: int) -> None:
    code = """
import os, subprocess, sys
pid = os.fork()
if pid == 0:
    os.abort()
os.waitpid(pid, 0)
subprocess.run([sys.executable, "-c", "import os; os.abort()"])
subprocess.run(["sh", "-c", "kill -ABRT $$"])
"""
    dying, status, _ = _run(code, Programs[programs])
    assert status == 0
    assert [one.info.number for one in dying] == [signal.SIGABRT] * (1 + told)


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("/usr/bin/python3.11", True),
        ("/opt/python", True),
        ("/usr/bin/python3.13t", True),
        ("/usr/bin/python3-dbg", True),
        ("/usr/bin/python3-config", False),
        ("/usr/bin/pythonista", False),
        ("/usr/lib/python3.11/a", False),
    ],
)
def test_an_interpreter_is_known_by_its_name(path: str, is_one: bool) -> None:
    assert is_interpreter(path) is is_one


def test_job_control_works_as_without_a_tracer() -> None:
    traced = Traced("import time\nprint('began', flush=True)\ntime.sleep(0.2)\nprint('ended')")
    assert traced.process.stdout is not None

    def until(state: str) -> None:
        end = time.monotonic() + 60
        while True:
            for _ in traced.tracer.events():
                pass
            with open(f"/proc/{traced.process.pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == state:
                    return
            assert time.monotonic() < end, f"never in state {state}"
            time.sleep(0.001)

    os.kill(traced.process.pid, signal.SIGSTOP)
    until("t")  # a traced process that job control has stopped
    os.kill(traced.process.pid, signal.SIGCONT)
    assert [event for event in traced.events() if isinstance(event, Dying)] == []
    assert traced.close() == "began\nended\n"


def test_a_hold_changes_nothing() -> None:
    code = (
        "import threading\nthreads = [threading.Thread(target=sum, args=(range(10**6),)) for _ in range(4)]\n"
    )
    code += "for thread in threads: thread.start()\nfor thread in threads: thread.join()\nprint('done')"
    traced = Traced(code)
    held = 0
    end = False
    while not end:
        for event in traced.tracer.events():
            assert isinstance(event, Ended)
            end = True
        if not end and traced.tracer.traces(traced.process.pid):
            held += bool(traced.tracer.hold(traced.process.pid))
            traced.tracer.release(traced.process.pid)
    assert held > 0
    assert traced.close() == "done\n"


def test_threads_that_begin_while_it_is_let_go_of_run_on() -> None:
    code = "import threading\nfor _ in range(1000):\n    thread = threading.Thread(target=int)\n"
    code += "    thread.start()\n    thread.join()\nprint('done')"
    for turn in range(20):
        traced = Traced(code)
        end = time.monotonic() + turn * 0.002
        while time.monotonic() < end:
            ends = [Ended(traced.process.pid, 0)]  # it may have been quicker
            assert list(traced.tracer.events()) in ([], ends)
        assert traced.close() == "done\n"
        assert traced.process.wait(patient(60)) == 0


def test_what_is_let_go_of_runs_on() -> None:
    traced = Traced("print('done')")
    traced.tracer.let_go()
    assert traced.close() == "done\n"
    assert traced.process.wait(patient(60)) == 0
