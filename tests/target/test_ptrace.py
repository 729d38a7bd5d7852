"""May we trace it: asked of the kernel here, and of one with Yama in a virtual machine."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.errors import PermissionRefused, TargetError, TargetGone
from dualdbg.target import permission, ptrace, scope
from tests import support

from .yama import NOBODY, in_vm, sudo_for_nobody


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_probing_a_child_leaves_it_as_it_was(child: subprocess.Popen[bytes]) -> None:
    ptrace.check(child.pid)
    assert ptrace.probe(child.pid) == 0
    status = Path(f"/proc/{child.pid}/status").read_text()
    assert "TracerPid:\t0\n" in status
    assert child.communicate(b"still there")[0] == b"still there"


def test_what_is_stopped_stays_stopped(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGSTOP)
    support.wait_until(lambda: state(child.pid) == "T", what="it is stopped")
    assert ptrace.probe(child.pid) == 0
    # PTRACE_DETACH wakes the thread, and it stops itself again (kernel/ptrace.c, ptrace_detach).
    support.wait_until(lambda: state(child.pid) == "T", what="it is stopped again")


def test_nobody_and_a_zombie() -> None:
    process = subprocess.Popen(["true"])
    support.wait_until(lambda: state(process.pid) == "Z", what="it has ended")
    with pytest.raises(TargetError, match="zombie"):
        ptrace.check(process.pid)
    process.wait()
    assert ptrace.probe(process.pid) == errno.ESRCH
    with pytest.raises(TargetGone):
        ptrace.check(process.pid)


def test_a_process_that_keeps_others_out_is_shown_as_roots() -> None:
    """By that it is told from others of its user, for whom another reason is given."""
    code = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print(flush=True); input()"
    nobody = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
    python = support.require(shutil.which("python3", path=os.defpath), "a Python that other users may run")
    with subprocess.Popen(
        [python, "-ISc", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/",
        **nobody,  # type: ignore[call-overload]
    ) as process:
        assert process.stdout.readline() == b"\n"
        found = permission.look(process.pid)
        assert found is not None
        assert found.shown_owner == 0 != found.owner
        process.communicate(b"\n")


def test_a_process_that_is_traced_names_its_tracer(child: subprocess.Popen[bytes]) -> None:
    tracer = (
        "import ctypes, sys\n"
        f"ctypes.CDLL(None).ptrace(0x4206, {child.pid}, None, None)\n"
        "print('ready pid=0', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", tracer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        support.read_ready(process)
        with pytest.raises(PermissionRefused, match=rf"traced by process {process.pid} \(python") as raised:
            ptrace.check(child.pid)
        assert str(process.pid) in raised.value.hint
        process.communicate()
    ptrace.check(child.pid)


def test_nothing_is_lowered_where_nothing_forbids(child: subprocess.Popen[bytes]) -> None:
    if permission.yama_scope():
        pytest.skip(support.OUTSIDE + "this kernel has Yama: the virtual machine's tests look at that")
    assert scope.lowering_for([child.pid, 999_999_999], "never", tell=pytest.fail) is None


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


# -- on a kernel with Yama ----------------------------------------------------------------------


# Starts a program as dualdbg does, lets a real gdb attach to it, and tries to trace one that does not name us.
LAUNCH = """
import asyncio, subprocess, sys
from dualdbg.errors import DualdbgError
from dualdbg.target import ptrace
from dualdbg.target.launcher import Launch
from tests.target.client import connected
def gdb(pid):
    command = ["gdb", "-nx", "-nh", "-batch", "-p", str(pid), "-ex", "info inferiors", "-ex", "detach"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return "attached" if f"process {pid}" in done.stdout else "refused"
def check(pid):
    try:
        ptrace.check(pid)
        return "allowed"
    except DualdbgError as error:
        return f"{type(error).__name__}: {error.message} | {error.hint}"
async def main():
    async with connected(Launch(sys.executable, code="pass")) as client:
        print("launched:", check(client.target.pid))
        print("gdb:", await asyncio.to_thread(gdb, client.target.pid))
        await client.start()
        await client.target.wait()
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    print("child:", check(child.pid))
    child.communicate()
asyncio.run(main())
"""


# A program that imports dualdbg.allow; and a child that joins a run, which its parent's permission does not cover.
ALLOW = f"""
import json
code = "import sys, dualdbg.allow; print('ready', flush=True); sys.stdin.read()"
with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
    program.stdout.readline()
    print("allows:", check(program.pid))
    program.stdin.close()
command = [sys.executable, "-B", "-m", "dualdbg", "run", "--json", "--follow", "python", "-b", "children.py:11",
           "--batch", "-x", "bt", {str(support.ROOT / "tests" / "follow" / "programs" / "children.py")!r}, "mp-fork"]
done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
events = [json.loads(line) for line in done.stdout.splitlines()]
print("joined:", [event["process"] for event in events if event["event"] == "stopped"])
"""


@pytest.mark.vm
@pytest.mark.slow
def test_scope_1_allows_what_we_launch_and_its_children_and_nothing_else() -> None:
    launched, gdb, child, allows, joined = in_vm(1, NOBODY, LAUNCH + ALLOW)
    assert (launched, gdb) == ("launched: allowed", "gdb: attached")
    assert child.startswith("child: ScopeRefused: Yama's ptrace_scope is 1")
    assert (allows, joined) == ("allows: allowed", "joined: [2]")


@pytest.mark.vm
@pytest.mark.slow
@pytest.mark.parametrize(
    ("scope", "error", "words"),
    [(2, "ScopeRefused", "CAP_SYS_PTRACE"), (3, "PermissionRefused", "until a reboot")],
)
def test_scopes_2_and_3_are_explained(scope: int, error: str, words: str) -> None:
    launched, gdb, child = in_vm(scope, NOBODY, LAUNCH)
    assert gdb == "gdb: refused"
    for line in (launched, child):
        assert f"{error}: Yama's ptrace_scope is {scope}" in line and words in line
        assert line.partition(" | ")[2]


# What is asked of the scope while and after it is lowered, also when who has lowered it is killed.
LOWER = """
import signal, subprocess, sys, time
from dualdbg.target import permission, scope
def settled(value):
    deadline = time.monotonic() + 60
    while permission.yama_scope() != value and time.monotonic() < deadline:
        time.sleep(0.01)
    return permission.yama_scope()
told = []
print("none for what is allowed:", scope.lowering_for([], "never", told.append), told)
lowering = scope.Lowering()
with lowering.lowered():
    print("inside", permission.yama_scope())
print("after", permission.yama_scope())
try:
    with lowering.lowered():
        raise KeyError
except KeyError:
    print("after an error", permission.yama_scope())
lowering.lower()
lowering.close()
print("closed while lowered", permission.yama_scope())
hold = "import time; from dualdbg.target import scope\\n"
hold += "with scope.Lowering().lowered(): print('low', flush=True); time.sleep(1000)"
def start():
    return subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE, text=True)
first = start()
first.stdout.readline()
second = start()
print("while one holds it", permission.yama_scope())
first.kill()
second.stdout.readline()
print("the next in turn", permission.yama_scope())
second.send_signal(signal.SIGTERM)
print("after a signal", settled(SCOPE))
first = start()
first.stdout.readline()
first.kill()
print("after kill -9", settled(SCOPE))
scope.LONGEST = 1
with scope.Lowering().lowered():
    print("after its time", settled(SCOPE))
print("and then", permission.yama_scope())
"""


@pytest.mark.vm
@pytest.mark.slow
@pytest.mark.parametrize(("scope", "user"), [(1, 0), (2, NOBODY)])
def test_the_scope_is_lowered_and_put_back(scope: int, user: int) -> None:
    """By root itself, and by a user who may use sudo."""
    first = sudo_for_nobody() if user else "true"
    assert in_vm(scope, user, LOWER.replace("SCOPE", str(scope)), first) == [
        "none for what is allowed: None []",
        "inside 0",
        f"after {scope}",
        f"after an error {scope}",
        f"closed while lowered {scope}",
        "while one holds it 0",
        "the next in turn 0",
        f"after a signal {scope}",
        f"after kill -9 {scope}",
        f"after its time {scope}",
        f"and then {scope}",
    ]


@pytest.mark.vm
@pytest.mark.slow
def test_without_sudo_the_commands_are_named() -> None:
    script = (
        "from dualdbg.errors import PermissionRefused\n"
        "from dualdbg.target import scope\n"
        "for ask in (True, False):\n"
        "    try:\n"
        "        scope.Lowering(ask)\n"
        "    except PermissionRefused as error:\n"
        "        print(error.message, '|', error.hint)\n"
    )
    # A sudo that refuses nobody says so too.
    lines = [line for line in in_vm(1, NOBODY, script) if " | " in line]
    assert len(lines) == 2
    for line in lines:
        assert "ptrace_scope is 1" in line
        assert "sysctl kernel.yama.ptrace_scope=0" in line and "sysctl kernel.yama.ptrace_scope=1" in line
