"""How code gets into a process: where it is put, who runs it, and who asks the interpreter to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dualdbg.errors import TargetError
from dualdbg.session.attach.injection import find_scratch
from dualdbg.session.attach.pending_call import QueueBusy, request_script
from dualdbg.session.attach.python_control import awaited
from dualdbg.session.attach.safe_waits import sleeping_safely
from dualdbg.shared import python_versions
from dualdbg.snapshot.capture import Captured, Wanted, capture
from dualdbg.snapshot.cpython.layout import RemoteDebugging
from dualdbg.snapshot.linux.memory import PAGE, Memory
from dualdbg.snapshot.report.assemble import Assembler
from dualdbg.system.patience import patient
from tests import rows
from tests.cli.driver import dualdbg
from tests.stacks.nameless import stripped
from tests.support import find_interpreter, other_interpreter, require, wait_until

READY = "print('ready', flush=True)\n"
WAITS = {
    "sleep": "import time\n" + READY + "time.sleep(3600)\n",
    "join": "import threading, time\nthread = threading.Thread(target=time.sleep, args=[3600], daemon=True)\n"
    "thread.start()\n" + READY + "thread.join()\n",
    "poll": "import select\npoll = select.poll()\n" + READY + "poll.poll(3600000)\n",
}
MORE_WAITS = {
    "select": "import select\n" + READY + "select.select([], [], [], 3600)\n",
    "epoll": "import select\npoll = select.epoll()\n" + READY + "poll.poll(3600)\n",
    "lock": "import threading\nlock = threading.Lock()\nlock.acquire()\n" + READY + "lock.acquire()\n",
    "condition": "import threading\none = threading.Condition()\none.acquire()\n"
    + READY
    + "one.wait(3600)\n",
    "queue": "import queue\n" + READY + "queue.SimpleQueue().get()\n",
    "read": "import os\nends = os.pipe()\n" + READY + "os.read(ends[0], 1)\n",
    # The child ends with its parent.
    "waitpid": "import os\nends = os.pipe()\nif os.fork() == 0:\n    os.close(ends[1])\n    os.close(1)\n"
    "    os.read(ends[0], 1)\n    os._exit(0)\n" + READY + "os.waitpid(-1, 0)\n",
    "pause": "import signal\n" + READY + "signal.pause()\n",
    "sigwait": "import signal\n" + READY + "signal.sigwait([40])\n",
    "recv": "import socket\nends = socket.socketpair()\n" + READY + "ends[0].recv(1)\n",
    "accept": "import socket\none = socket.create_server(('127.0.0.1', 0))\n" + READY + "one.accept()\n",
}
BUSY = "import time\ndef tick(n):\n    return n + 1\nn = 0\n" + READY + "while True:\n    n = tick(n)\n"
TWO_BUSY = "import threading\ndef turn():\n    while True:\n        pass\n" + (
    "threading.Thread(target=turn, daemon=True).start()\n" + READY + "turn()\n"
)


# The names of its main module are its own, also those that a debugger might use or bind there.
OWN_NAMES = """\
import select
def f(*given):
    return given
open = exec = file = code = path = settings = f
before = {}
before.update(globals())
print("ready", flush=True)
while not select.select([0], [], [], %s)[0]:
    f(1)
print([name for name, value in globals().items() if before.get(name, f) is not value], flush=True)
"""


@contextmanager
def program(python: str | Path, text: str, *options: str, file: Path | None = None) -> Iterator[int]:
    """A process that has said that it is ready; with ``file``, the text is put there."""
    words = ["-c", text]
    if file is not None:
        file.write_text(text)
        words = [str(file)]
    process = subprocess.Popen([python, *options, *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process.pid
        assert process.poll() is None
    finally:
        process.terminate()
        process.communicate()


def look(pid: int) -> Captured:
    return capture(pid, wanted=Wanted(names=False))


@pytest.fixture(params=python_versions.NAMES[3:])
def python(request: pytest.FixtureRequest) -> Path:
    return other_interpreter(request.param)


def sleeps_safely(pid: int) -> None:
    def sleeper() -> bool:
        captured = look(pid)
        found = sleeping_safely(Assembler(captured).report(), captured)
        return found is not None and found.thread.tid == pid

    wait_until(sleeper, what="the main thread sleeps where code may be run")


@pytest.mark.parametrize("how", WAITS)
def test_a_thread_of_a_stripped_interpreter_sleeps_safely(python: Path, how: str, tmp_path: Path) -> None:
    with program(stripped(python, tmp_path), WAITS[how]) as pid:
        sleeps_safely(pid)


@pytest.mark.parametrize("how", {**WAITS, **MORE_WAITS})
def test_a_thread_whose_sleep_is_not_known_is_waited_for(how: str) -> None:
    """Where code cannot be run at once (some sleeps of Debian's 3.13), it does not come as soon as the process runs."""
    with program(sys.executable, {**WAITS, **MORE_WAITS}[how]) as pid:

        def asleep() -> bool:
            report = Assembler(look(pid)).report()
            return next(one for one in report.threads if one.thread.tid == pid).system_call is not None

        wait_until(asleep, what="the main thread is asleep")
        captured = look(pid)
        report = Assembler(captured).report()
        assert sleeping_safely(report, captured) or awaited(report, captured)


@pytest.mark.parametrize("version", rows.versions())
@pytest.mark.parametrize("how", {**WAITS, **MORE_WAITS})
def test_a_thread_sleeps_safely(version: str, how: str) -> None:
    """Compilers rename functions of some interpreters, as select_select_impl.constprop.0, and inline some."""
    with program(other_interpreter(version), {**WAITS, **MORE_WAITS}[how]) as pid:
        sleeps_safely(pid)


def test_a_thread_that_waits_for_the_gil_of_a_stripped_interpreter_does_not(
    python: Path, tmp_path: Path
) -> None:
    with program(stripped(python, tmp_path), TWO_BUSY) as pid:
        seen = 0
        for _ in range(10):
            captured = look(pid)
            report = Assembler(captured).report()
            seen += any(thread.thread.waits_for_gil for thread in report.threads)
            assert sleeping_safely(report, captured) is None
        assert seen


# At each of these the interpreter cannot run code, though a thread sleeps where that is possible else: for Py_Finalize
# has begun, for it is over (libc calls what on_exit was given after it), or for that thread is a sub-interpreter's.
ENDING = "import ctypes, sys, threading, time\nlibc = ctypes.CDLL(None)\n" + (
    "threading.Thread(target=time.sleep, args=[3600], daemon=True).start()\n" + READY
)
NOT_THERE = {
    "finalizing": ENDING + "class Last:\n    def __del__(self, wait=libc.getchar):\n        wait()\n"
    "sys.modules['last'] = Last()\n",
    "finalized": ENDING + "libc.on_exit(libc.getchar, None)\n",
    "sub-interpreter": "try:\n    import _interpreters as them\nexcept ImportError:\n"
    "    import _xxsubinterpreters as them\n"
    + READY
    # The sleep gives the GIL away: a call that was queued for this interpreter would run then.
    + "one = them.create()\nthem.run_string(one, 'import os, time; time.sleep(0); os.read(0, 1)')\nthem.destroy(one)\n",
}


@pytest.mark.parametrize("version", rows.versions())
@pytest.mark.parametrize("where", NOT_THERE)
def test_nothing_is_called_where_the_main_interpreter_runs_no_code(version: str, where: str) -> None:
    with subprocess.Popen(
        [other_interpreter(version), "-c", NOT_THERE[where]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            wait_until(lambda: reads_input(process.pid), what="the main thread waits for its input")
            done = dualdbg("attach", str(process.pid), "--no-stacks", "--batch", "-x", "info threads")
            rest = process.communicate("x", timeout=patient(60))
        finally:
            process.kill()
    assert (process.returncode, *rest) == (0, "", ""), done.stdout + done.stderr
    later = where == "sub-interpreter" and version != "3.8"  # whose queue is that of all interpreters
    said = "Python control is not there yet" if later else "Python control is not possible"
    assert said in done.stdout + done.stderr


def reads_input(pid: int) -> bool:
    thread = next(one for one in Assembler(look(pid)).report().threads if one.thread.tid == pid)
    return thread.system_call is not None and thread.system_call.name == "read"


def test_a_process_with_no_library_of_room_has_room_behind_its_code() -> None:
    with program(sys.executable, WAITS["sleep"]) as pid:
        captured = look(pid)
        address = find_scratch(captured.memory, captured.modules[:1], 100)
        [module] = [one for one in captured.modules if one.start <= address < one.end]
        assert module.library is not None
        for segment in module.library.elf.loads():
            start = module.bias + segment.address
            assert not start - 100 < address < start + segment.memory_size
        assert find_scratch(captured.memory, captured.modules, 100) != address
        with pytest.raises(TargetError, match="has room"):
            find_scratch(captured.memory, captured.modules, PAGE)


class Words(Memory):
    """Memory of one page of zeros, in which ``busy`` is not 0."""

    def __init__(self, busy: int | None = None) -> None:
        super().__init__()
        data = bytearray(PAGE)
        data[8] = 1
        if busy is not None:
            data[busy] = 1
        self._data = bytes(data)

    def _load(self, page: int) -> bytes | None:
        return self._data if page == 0 else None


REMOTE = RemoteDebugging(breaker=8, enabled=0, pending_call=16, script_path=20, script_path_size=30)


def test_what_pep_768_wants_is_written() -> None:
    writes = {write.address: write.data for write in request_script(Words(), REMOTE, 0, "/tmp/attach.py")}
    assert writes == {20: b"/tmp/attach.py\0", 16: b"\1\0\0\0", 8: (1 | 1 << 5).to_bytes(8, "little")}
    with pytest.raises(QueueBusy, match="another debugger"):
        request_script(Words(busy=16), REMOTE, 0, "/tmp/attach.py")
    with pytest.raises(TargetError, match="too long"):
        request_script(Words(), REMOTE, 0, "/tmp/" + "x" * 30)


@pytest.mark.parametrize("version", ["3.14", "3.15"])
@pytest.mark.parametrize("how", ["busy", *WAITS])
def test_newer_interpreters_are_controlled(version: str, how: str, tmp_path: Path) -> None:
    python = require(find_interpreter(version), f"Python {version} is not installed", outside=True)
    file = tmp_path / "program.py"
    with program(python, BUSY if how == "busy" else WAITS[how], file=file) as pid:
        words = ["-x", "continue", "-x", "print 20 + 22"] if how == "busy" else []
        stop = ["-b", "program.py:3"] if how == "busy" else []
        done = dualdbg("attach", "--batch", "--no-stacks", *stop, *words, str(pid), stdin="")
        said = done.stdout + done.stderr
        assert "not possible" not in said and "comes once the target runs" in said, done
        if how == "busy":
            assert "Python control is there" in said and "42" in said, done


@pytest.mark.parametrize("version", ["3.14", "3.15"])
@pytest.mark.parametrize("text", [BUSY, WAITS["sleep"]], ids=["busy", "sleep"])
def test_who_switches_remote_debugging_off_is_heard(version: str, text: str) -> None:
    python = require(find_interpreter(version), f"Python {version} is not installed", outside=True)
    with program(python, text, "-X", "disable-remote-debug") as pid:
        done = dualdbg("attach", "--batch", "--no-stacks", str(pid))
        assert "disable-remote-debug" in done.stdout + done.stderr, done


@pytest.mark.parametrize("version", rows.versions())
@pytest.mark.parametrize("waits", [0.2, 0])  # asleep, and running Python
def test_the_names_of_the_main_module_are_the_programs_own(
    version: str, waits: float, tmp_path: Path
) -> None:
    script = tmp_path / "own_names.py"
    script.write_text(OWN_NAMES % waits)
    command = [other_interpreter(version), script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            words = ("-b", f"{script}:3", "-x", "continue", "-x", "delete 1", "-x", "detach")
            done = dualdbg("attach", "--json", "--no-stacks", "--batch", *words, str(process.pid))
            assert [stop["reason"] for stop in done.of("stopped")][1:] == ["breakpoint"], done
            assert process.communicate("x\n", timeout=patient(60))[0] == "[]\n"
            assert process.returncode == 0
        finally:
            process.kill()
