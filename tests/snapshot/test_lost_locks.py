"""Waits that nobody will end: told with what is known of them, by two looks; and one that is released is not."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from dualdbg.snapshot.facts import Descriptor, SystemCall
from dualdbg.snapshot.report.descriptor_waits import descriptor_wait
from dualdbg.snapshot.report.standing import time_limit
from tests.samples.test_hangs import hung
from tests.snapshot.test_command import dualdbg
from tests.support import read_ready

TOLD = {
    "rlock": (
        "waits for the Python RLock at 0x",
        "take_lost_rlock",
        "which a thread has locked that is no more",
    ),
    "semaphore": ("waits for a lock, a semaphore or a queue of multiprocessing, in take_lost_semaphore",),
    "receive": (
        "waits, with a time limit of 0.3 s, to read from descriptor",
        "unix socket",
        "receive_in_vain",
    ),
    # Where there is no poll, the C library makes it of ppoll, which writes the time that is left when it is stopped.
    "poll": (
        "waits, with a time limit of 0.3 s, to read from descriptor"
        if platform.machine() == "x86_64"
        else "waits, with a time limit, to read from descriptor",
        "unix socket",
        "poll_in_vain",
    ),
}


@pytest.mark.parametrize("kind", TOLD)
def test_a_wait_that_nobody_ends(kind: str) -> None:
    if kind == "rlock" and sys.version_info >= (3, 14):
        pytest.skip("an RLock of 3.14 is read as a mutex of Python's own")
    with hung("lost_locks.py", kind) as (process, _):
        done = dualdbg("stacks", "--diagnose", str(process.pid))
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert all(part in words for part in TOLD[kind]), done.stdout


HELD = """
import threading
lock = threading.RLock()
held = threading.Event()
def keep():
    lock.acquire()
    held.set()
    threading.Event().wait()
threading.Thread(target=keep, daemon=True, name="keeper").start()
held.wait()
print("ready pid=0", flush=True)
lock.acquire()
"""


def test_a_lock_whose_owner_is_there_is_not_lost() -> None:
    command = [sys.executable, "-c", HELD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            read_ready(process)
            told = dualdbg("stacks", "--diagnose", str(process.pid)).stdout
        finally:
            process.kill()
    assert "is no more" not in told


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (SystemCall("recvfrom", (3,) * 6), "waits to read from descriptor 3 (pipe:[7]), in f"),
        (
            SystemCall("sendto", (3,) * 6, limit=2.0),
            "waits, with a time limit of 2 s, to write to descriptor 3",
        ),
        (
            SystemCall("poll", (16, 1, 500, 0, 0, 0), sends=True),
            "waits, with a time limit of 0.5 s, to write to",
        ),
        (SystemCall("poll", (16, 1, 0xFFFFFFFF, 0, 0, 0), sends=False), "waits to read from descriptor 3"),
        (SystemCall("ppoll", (16, 1, 32, 0, 0, 0), sends=False), "waits, with a time limit, to read from"),
        (SystemCall("flock", (3,) * 6), "waits for the lock of the file at descriptor 3"),
    ],
)
def test_the_limit_and_the_direction_of_a_wait_are_said(call: SystemCall, words: str) -> None:
    assert descriptor_wait(call, Descriptor(3, "pipe:[7]"), "f").startswith(words)


@pytest.mark.parametrize(
    ("call", "seconds"),
    [
        (SystemCall("recvfrom", (3,) * 6), None),
        (SystemCall("recvfrom", (3,) * 6, limit=0.25), 0.25),
        (SystemCall("futex", (16, 0, 0, 32, 0, 0)), None),
        (SystemCall("epoll_wait", (3, 16, 1, 40, 0, 0)), 0.04),
    ],
)
def test_the_seconds_of_a_limit(call: SystemCall, seconds: float | None) -> None:
    found = time_limit(call)
    assert found == seconds if seconds is None else found == pytest.approx(seconds)
