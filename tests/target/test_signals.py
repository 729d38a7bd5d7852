"""A program's signals and masks, and those of its children, are what they are without a debugger."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.attach.driver import attached
from tests.cli.driver import dualdbg
from tests.support import other_interpreter
from tests.target.client import connected
from tests.target.test_launcher import piped

PROGRAM = Path(__file__).with_name("signals.py")
OURS = "ours"


def interpreter(version: str) -> Path:
    return Path(sys.executable) if version == OURS else other_interpreter(version)


def alone(python: Path, folder: Path) -> tuple[str, int]:
    """What the program writes without a debugger, and how it ends."""
    output = folder / "alone.txt"
    done = subprocess.run([python, PROGRAM, output], timeout=patient(60), check=False)
    return output.read_text(), -done.returncode


def under_run(python: Path, output: Path, *words: str) -> int:
    done = dualdbg("run", "--batch", *words, "--python", python, PROGRAM, output, cwd=output.parent)
    assert "did not" not in done.stderr, done
    return done.status - 128


def with_breakpoints(python: Path, output: Path) -> int:
    return under_run(python, output, "-b", "py:handled", "-b", "waitpid")


def attached_to(python: Path, output: Path) -> int:
    with subprocess.Popen([python, PROGRAM, output, "wait"], stdin=subprocess.PIPE) as process:
        words = ("-b", "py:tick", "-x", "continue", "-x", "del 1", "-x", "continue")
        try:
            with attached(process.pid, *words) as session:
                assert session.stdout is not None
                while "* Breakpoint 1: Python" not in session.stdout.readline():
                    assert session.poll() is None
                process.communicate(b"x", timeout=patient(60))
                session.communicate(timeout=patient(60))
        finally:
            process.kill()
    return -process.returncode


# The first five stand for all: each version, and each way.
WAYS = [
    ("3.8", attached_to), (OURS, under_run), ("3.13", attached_to), ("3.8", with_breakpoints), ("3.13", under_run),
    ("3.8", under_run), (OURS, attached_to), (OURS, with_breakpoints), ("3.13", with_breakpoints),
]  # fmt: skip


@pytest.mark.parametrize(("version", "way"), rows.some(WAYS, 5))
def test_signals_and_masks_are_the_programs_own(version, way, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    python, output = interpreter(version), tmp_path / "output.txt"
    status = way(python, output)
    assert (output.read_text(), status) == alone(python, tmp_path)


# Writes how many threads of others there are, and their mask: of a process, of a forked child, of a Python.
MASKS = """\
import os, subprocess, sys, threading
def masks_of_others():
    found = []
    for thread in os.listdir("/proc/self/task"):
        if int(thread) not in (os.getpid(), threading.get_native_id()):
            with open("/proc/self/task/%s/status" % thread) as file:
                found.append(file.read().partition("SigBlk:")[2].split()[0])
    return found
def told(name):
    masks = []
    while len(set(masks)) != 1:  # a thread that begins or ends has all blocked, for a moment
        try:
            masks = masks_of_others()
        except OSError:  # it has ended
            pass
    with open("masks.txt", "a") as file:
        print(name, len(masks) > 1, *set(masks), file=file)
told(*sys.argv[1:] or ["begin"])
if not sys.argv[1:]:
    pid = os.fork()
    if not pid:
        told("fork")
        os._exit(0)
    os.waitpid(pid, 0)
    subprocess.run([sys.executable, __file__, "exec"], check=True)
"""
RAISED_BY_FAULTS = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS"}


def test_threads_of_ours_block_all_signals_but_faults(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(MASKS)
    words = ("-b", "py:told", "-x", "p name", "-x", "next", "-x", "del 1", "-x", "continue")
    done = dualdbg("run", "--follow", "python", "--batch", *words, program, cwd=tmp_path)
    blocked = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    blocked -= {signal.Signals[name] for name in RAISED_BY_FAULTS}
    mask = f"{sum(1 << (number - 1) for number in blocked):016x}"
    told = (tmp_path / "masks.txt").read_text().splitlines()
    assert told == [f"{name} True {mask}" for name in ("begin", "fork", "exec")], done


def test_what_an_expression_starts_in_a_thread_of_ours_has_the_programs_mask() -> None:
    masks = "[x for x in open('/proc/thread-self/status') if x[:6] == 'SigBlk']"
    child = "__import__('subprocess').check_output(['grep', 'SigBlk', '/proc/self/status'])"

    async def run() -> None:
        code = (
            "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {10}); print('up', flush=True); input()"
        )
        async with connected(piped(code=code)) as client:
            await client.start()
            assert client.target.stdout is not None
            await client.target.stdout.readline()
            for expression in (masks, child):
                answer = await client.request("evaluate", expression=expression, context="watch")
                assert "SigBlk:\\t0000000000000200\\n" in answer["body"]["result"], answer

    asyncio.run(run())


def test_the_mask_that_dualdbg_was_started_with_is_the_programs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import signal; print('mask', *sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))))"
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGCHLD})
    try:
        done = dualdbg("run", "--batch", "-b", "getppid", program)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert f"\nmask {int(signal.SIGUSR2)} {int(signal.SIGCHLD)}\n" in done.stdout, done


# A trap that is sent to the process, one to a thread, and one of an instruction (int3, x86-64).
TRAPS = """\
import ctypes, mmap, os, platform, signal, threading
seen = []
def wait(count):
    while len(seen) < count:
        pass
signal.signal(signal.SIGTRAP, lambda number, frame: seen.append(number))
os.kill(os.getpid(), signal.SIGTRAP)
wait(1)
thread = threading.Thread(target=lambda: signal.pthread_kill(threading.get_ident(), signal.SIGTRAP))
thread.start()
thread.join()
wait(2)
if platform.machine() == "x86_64":
    memory = mmap.mmap(-1, 4096, prot=7)
    memory.write(b"\\xcc\\xc3")
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
    wait(3)
print("all were handled")
"""


def test_a_trap_that_the_program_handles_is_shown_and_passed_on(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(TRAPS)
    done = dualdbg("run", "--batch", program, cwd=tmp_path)
    assert "* Signal: native" in done.stdout and "\nall were handled\n" in done.stdout, done
