"""How a running process is stopped: by a signal that does nothing in it when gdb dies before it has met it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dualdbg.session import preloads
from dualdbg.shared import quiet_signal
from dualdbg.system.patience import patient
from dualdbg.system.resources import resource_directory
from tests import rows
from tests.support import wait_until

# Says of every signal that it gets; the last word is the code that is to run first.
PROGRAM = """\
import signal, sys, threading, time
def tell(number, frame):
    print("got", signal.Signals(number).name, flush=True)
def block():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
exec(sys.argv[1])
print("ready", flush=True)
sys.stdin.read(1)
print("left", flush=True)
"""
CATCHES_ALL = "for n in range(1, 32):\n  if n not in (9, 19): signal.signal(n, tell)"
CATCHES_DEFAULTS = "[signal.signal(n, tell) for n in (signal.SIGURG, signal.SIGWINCH, signal.SIGINT)]"


@contextmanager
def program(first: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, first], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("first", "chosen"),
    [
        ("pass", "SIGURG"),
        ("signal.signal(signal.SIGURG, tell)", "SIGWINCH"),
        ("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])", "SIGWINCH"),
        (CATCHES_DEFAULTS, "SIGPIPE"),  # which every Python ignores
        (CATCHES_ALL, quiet_signal.LAST_RESORT),
        ("block()", quiet_signal.LAST_RESORT),
        ("t = threading.Thread(target=lambda: (block(), time.sleep(60)), daemon=True); t.start()", "SIGURG"),
    ],
)
def test_the_choice(first: str, chosen: str) -> None:
    with program(first) as process:
        assert quiet_signal.choose(process.pid) == chosen


def test_the_choice_leaves_out_what_the_user_stops_at() -> None:
    with program("pass") as process:
        assert quiet_signal.choose(process.pid, {"SIGURG"}) == "SIGWINCH"


def test_a_process_that_is_gone() -> None:
    with program("pass") as process:
        process.kill()
        process.wait()
    with pytest.raises(OSError):
        quiet_signal.choose(process.pid)


def gdb(*commands: str) -> subprocess.CompletedProcess[str]:
    """A gdb with our helpers and, on a processor with AMX, with what it needs to restore all registers after a call."""
    entry = resource_directory("gdb_scripts") / "dualdbg_session.py"
    words = [word for text in (f"source {entry}", *commands) for word in ("-ex", text)]
    return subprocess.run(
        ["gdb", "-nx", "-nh", "-q", "-batch", *words],
        env={**os.environ, **preloads.for_gdb()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patient(120),
    )


def test_a_target_that_has_stopped_by_itself_gets_no_signal_for_its_next_run() -> None:
    """A breakpoint came first: the signal would end a function that gdb calls, and leave its frame on the stack."""
    with program("pass") as process:
        done = gdb(
            "handle SIGURG nostop noprint pass",
            f"attach {process.pid}",
            "python import dualdbg_engine.interrupting as interrupting; interrupting.interrupt_quietly()",
            *("print (int)getpid()", "info signals SIGURG", "detach", "quit"),
        )
        assert f"$1 = {process.pid}" in done.stdout, done.stdout + done.stderr
        assert re.search(r"^SIGURG\s+No\s+No\s+Yes", done.stdout, re.MULTILINE), done.stdout
        output, _ = process.communicate("x", timeout=patient(60))
        assert (process.returncode, output) == (0, "left\n")


SENDS = """\
import os, signal, threading
from dualdbg_engine.leaving import calling
from dualdbg_helpers import language
over = threading.Event()
def send():
    while not over.wait(0.05):
        os.kill({pid}, signal.{name})
        os.kill({pid}, signal.SIGCONT)
sender = threading.Thread(target=send)
try:
    with calling():
        sender.start()
        print("it returned", int(language.evaluate("((int(*)(int))&usleep)(700000)")) in (0, -1))
finally:
    over.set()
    sender.join()
"""


@pytest.mark.parametrize("name", rows.some(["SIGSTOP", "SIGRTMIN", "SIGTSTP", "SIGWINCH"], 2))
def test_signals_from_outside_do_not_cut_a_call_by_gdb_short(tmp_path: Path, name: str) -> None:
    """Its frame would stay on the stack, and the program would return to nowhere when gdb is gone."""
    with program("import signal; signal.signal(signal.SIGRTMIN, lambda *_: None)") as process:
        sends = tmp_path / "sends.py"
        sends.write_text(SENDS.format(pid=process.pid, name=name))
        done = gdb("set confirm off", f"attach {process.pid}", f"source {sends}", "detach")
        assert "it returned True" in done.stdout, done.stdout + done.stderr
        process.send_signal(signal.SIGCONT)
        output, _ = process.communicate("x", timeout=patient(60))
        assert (process.returncode, output) == (0, "left\n")


@pytest.mark.parametrize("first", ["pass", CATCHES_DEFAULTS])
@pytest.mark.parametrize("how", ["interrupting.interrupt_quietly()", "leaving.leave()"])
def test_gdb_dies_with_its_interrupt_on_the_way(first: str, how: str) -> None:
    """gdb's own `interrupt` sends a SIGINT, which raised KeyboardInterrupt in the program."""
    with program(first) as process:
        entry = resource_directory("gdb_scripts") / "dualdbg_session.py"
        sends = f"import os, dualdbg_engine.leaving as leaving, dualdbg_engine.interrupting as interrupting; {how}"
        with subprocess.Popen(
            ["gdb", "-nx", "-nh", "-q", "-iex", "set auto-solib-add off"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as gdb:
            assert gdb.stdin is not None
            gdb.stdin.write(f"source {entry}\nattach {process.pid}\ncontinue &\n")
            gdb.stdin.write(f"python {sends}; os.kill(os.getpid(), 9)\n")
            gdb.stdin.flush()
            assert gdb.wait(patient(60)) == -signal.SIGKILL
        wait_until(lambda: "TracerPid:\t0\n" in Path(f"/proc/{process.pid}/status").read_text(), 20, "free")
        output, _ = process.communicate("x", timeout=patient(60))
        assert (process.returncode, output) == (0, "left\n")


MANY_AT_A_BREAKPOINT = """\
signal.signal(signal.SIGCONT, tell)
def work():
    x = 3.5
    while True:
        for _ in range(20):
            x ** 1.000001
        time.sleep(0.0005)
for _ in range(6):
    threading.Thread(target=work, daemon=True).start()
"""
LEAVES_OFTEN = """\
import os, signal, threading, gdb
from dualdbg_engine import leaving
for _ in range(8):
    gdb.execute("attach {pid}")
    gdb.execute("sharedlibrary")
    gdb.execute("break PyNumber_Power if 0")
    gdb.execute("handle SIGURG stop print pass", to_string=True)
    threading.Timer(0.1, os.kill, ({pid}, signal.SIGURG)).start()
    gdb.execute("continue")
    gdb.execute("handle SIGURG nostop noprint pass", to_string=True)
    leaving.let_go()
    gdb.execute("delete")
"""


def test_a_program_gets_no_signal_when_gdb_lets_go_of_it(tmp_path: Path) -> None:
    """A thread that meets a breakpoint has not taken gdb's SIGSTOP, which gdb would take back by a SIGCONT."""
    with program(MANY_AT_A_BREAKPOINT) as process:
        entry = resource_directory("gdb_scripts") / "dualdbg_session.py"
        leaves = tmp_path / "leaves.py"
        leaves.write_text(LEAVES_OFTEN.format(pid=process.pid))
        gdb = ["gdb", "-nx", "-nh", "-q", "-batch", "-iex", "set auto-solib-add off"]
        done = subprocess.run(
            [*gdb, "-ex", f"source {entry}", "-ex", f"source {leaves}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patient(120),
        )
        assert done.stdout.count("detached") == 8, done.stdout + done.stderr
        output, _ = process.communicate("x", timeout=patient(60))
        assert (process.returncode, output) == (0, "left\n")
