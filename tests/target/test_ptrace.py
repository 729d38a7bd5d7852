"""May we trace it: asked of the kernel here. test_yama.py asks one with Yama, in a virtual machine."""

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

from .yama import NOBODY


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_probing_a_child_leaves_it_as_it_was(child: subprocess.Popen[bytes]) -> None:
    ptrace.check(child.pid)
    assert ptrace.probe(child.pid) == 0
    assert ptrace.why_not(child.pid) is None
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
    assert "zombie" in str(ptrace.why_not(process.pid))
    process.wait()
    assert ptrace.probe(process.pid) == errno.ESRCH
    with pytest.raises(TargetGone):
        ptrace.check(process.pid)
    assert isinstance(ptrace.why_not(process.pid), TargetGone)


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
        assert str(ptrace.why_not(child.pid)) == str(raised.value)
        process.communicate()
    ptrace.check(child.pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="to become another user")
@pytest.mark.parametrize("owner", [NOBODY, NOBODY - 1])
@pytest.mark.parametrize("dumpable", [0, 1])
def test_without_tracing_the_answer_is_the_same(owner: int, dumpable: int) -> None:
    """Another user's process, one's own, and one that keeps its user out."""
    python = support.require(shutil.which("python3", path=os.defpath), "a Python that other users may run")
    code = f"import ctypes; ctypes.CDLL(None).prctl(4, {dumpable}, 0, 0, 0); print(flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": "/"}
    with subprocess.Popen([python, "-ISc", code], user=owner, group=owner, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == b"\n"
        reading, writing = os.pipe()
        asking = os.fork()
        if asking == 0:  # as nobody
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                os.write(
                    writing, b"%d %s" % (ptrace.probe(process.pid), str(ptrace.why_not(process.pid)).encode())
                )
            finally:
                os._exit(0)
        os.waitpid(asking, 0)
        number, _, told = os.read(reading, 4096).decode().partition(" ")
        os.close(reading)
        os.close(writing)
        process.communicate(b"\n")
    assert (number == "0") == (told == "None") == (owner == NOBODY and dumpable == 1), (number, told)


def test_nothing_is_lowered_where_nothing_forbids(child: subprocess.Popen[bytes]) -> None:
    if permission.yama_scope():
        pytest.skip(support.OUTSIDE + "this kernel has Yama: the virtual machine's tests look at that")
    assert scope.lowering_for([child.pid, 999_999_999], "never", tell=pytest.fail) is None


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
