"""Holding a process: nothing is lost, nothing is left, and a refusal says why."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.errors import PermissionRefused, TargetError, TargetGone
from dualdbg.snapshot.capture import capture
from dualdbg.snapshot.linux.ptrace import Hold
from dualdbg.snapshot.report.assemble import Assembler
from dualdbg.system.patience import patient
from tests.snapshot.programs_running import PROGRAMS, running
from tests.support import read_ready, wait_until


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def tracer_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("TracerPid")).split()[1])


def test_signals_and_new_threads_while_it_is_held() -> None:
    """Each signal that is sent while the process stands still arrives once it goes on, exactly once."""
    command = [sys.executable, str(PROGRAMS / "signals.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            read_ready(process)
            sent = 60
            for number in range(sent):
                if number % 2:
                    process.send_signal(signal.SIGUSR1)  # on its way while we seize
                with Hold(process.pid) as hold:
                    assert hold.threads
                    assert not hold.stubborn
                    assert all(state_of_thread(process.pid, t.tid) == "t" for t in hold.threads)
                    if not number % 2:
                        process.send_signal(signal.SIGUSR1)
                wait_until(lambda: pending(process.pid) == 0, what="the signal is taken")
            process.send_signal(signal.SIGTERM)
            answer, _ = process.communicate(timeout=patient(120))
            assert int(answer) == sent
        finally:
            process.kill()


def state_of_thread(pid: int, tid: int) -> str:
    return Path(f"/proc/{pid}/task/{tid}/stat").read_text().rpartition(")")[2].split()[0]


def pending(pid: int) -> int:
    """Signals that were sent and not yet delivered: SigPnd and ShdPnd of proc(5)."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1], 16) for line in status if line.startswith(("SigPnd", "ShdPnd")))


def test_a_stopped_process_stays_stopped() -> None:
    with running("busy.py") as pid:
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state_of(pid) == "T", what="stopped")
        with Hold(pid) as hold:
            assert len(hold.threads) == 2
        assert tracer_of(pid) == 0
        wait_until(lambda: state_of(pid) == "T", what="stopped again")
        os.kill(pid, signal.SIGCONT)
        wait_until(lambda: state_of(pid) == "R", what="running")


def test_a_thread_that_runs_is_waited_for() -> None:
    """Where many want the processor it takes its time to be given one, and stops then."""
    with running("busy.py") as pid:
        for _ in range(20):
            hold = Hold(pid)
            hold.take(deadline=0.0)
            hold.release()
            assert len(hold.threads) == 2 and not hold.stubborn
        assert tracer_of(pid) == 0


def test_a_thread_that_sleeps_uninterruptibly_is_let_go_later(tmp_path: Path) -> None:
    """It cannot stop while it is looked at, and stops when it wakes: nobody else could let it go on then."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    # posix_spawn(3) holds its caller, by vfork, until the child has run the program: it opens the FIFO before.
    code = (
        "import os, sys; print('ready', flush=True); "
        "os.posix_spawn('/bin/true', ['true'], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], 0, 0)]); "
        "print('awake', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(fifo)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            wait_until(lambda: state_of(process.pid) == "D", what="it waits for its child")
            with Hold(process.pid) as hold:
                assert hold.stubborn == [process.pid] and not hold.threads
            with open(fifo, "wb"):
                wait_until(lambda: state_of(process.pid) == "t", what="it has woken, and stopped")
            with Hold(process.pid) as hold:
                assert [thread.tid for thread in hold.threads] == [process.pid]
            assert process.stdout.readline() == b"awake\n"
            assert tracer_of(process.pid) == 0
        finally:
            process.kill()


def test_our_death_lets_everything_go() -> None:
    with running("busy.py") as pid:
        code = (
            "import os, signal, sys; from dualdbg.snapshot.linux.ptrace import Hold; "
            "Hold(int(sys.argv[1])).take(); os.kill(os.getpid(), signal.SIGKILL)"
        )
        done = subprocess.run([sys.executable, "-c", code, str(pid)], env={**os.environ, "PYTHONPATH": "."})
        assert done.returncode == -signal.SIGKILL
        wait_until(lambda: tracer_of(pid) == 0 and state_of(pid) == "R", what="running, untraced")


def test_refusals() -> None:
    with running("busy.py") as pid:
        tracer = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import sys; from dualdbg.snapshot.linux.ptrace import Hold\n"
                "with Hold(int(sys.argv[1])): print('held', flush=True); sys.stdin.read()",
                str(pid),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": "."},
        )
        try:
            assert tracer.stdout is not None
            assert tracer.stdout.readline() == "held\n"
            with pytest.raises(PermissionRefused, match=f"traced by process {tracer.pid}") as caught:
                Hold(pid).take()
            assert str(tracer.pid) in caught.value.hint
        finally:
            tracer.communicate()

    zombie = subprocess.Popen(["true"])
    wait_until(lambda: state_of(zombie.pid) == "Z", what="a zombie")
    with pytest.raises(TargetError, match="zombie"):
        Hold(zombie.pid).take()
    zombie.wait()
    with pytest.raises(TargetGone):
        Hold(zombie.pid).take()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_process() -> None:
    with running("busy.py") as pid:
        code = (
            "import os, sys; from dualdbg.snapshot.capture import capture; from dualdbg.errors import DualdbgError\n"
            "os.setgid(65534); os.setuid(65534)\n"
            "try: capture(int(sys.argv[1]))\n"
            "except DualdbgError as error: print(type(error).__name__, error)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(pid)], capture_output=True, text=True, env={"PYTHONPATH": "."}
        )
        assert done.stdout.startswith("PermissionRefused"), done.stderr
        assert "belongs to user root" in done.stdout
        assert "sudo" in done.stdout


def test_a_descriptor_is_told_as_it_was_though_it_is_closed_since() -> None:
    """The report is made when the process runs on: here it has ended by then."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        pipe = str(Path(f"/proc/self/fd/{process.stdin.fileno()}").readlink())
        wait_until(lambda: state_of(process.pid) == "S", what="it reads")
        captured = capture(process.pid)
        process.kill()
        process.wait()
    assembler = Assembler(captured)
    assembler.unwind()
    call = assembler.report().threads[0].system_call
    assert call is not None and call.descriptor is not None
    assert (call.name, call.descriptor.number, call.descriptor.target) == ("read", 0, pipe)
