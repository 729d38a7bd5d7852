"""What waits for work in a healthy program is not told; what is stuck in the same calls is."""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dualdbg.shared.proc_files import read_stat
from dualdbg.snapshot.report.library_threads import is_idle_loop
from tests.snapshot.programs_running import running
from tests.snapshot.test_command import dualdbg
from tests.support import wait_until

READ = {"x86_64": "0 ", "aarch64": "63 "}[platform.machine()]  # read(2)
READY = 'print(f"ready pid={os.getpid()}", flush=True)\n'
POOL = f"""
import multiprocessing, os, time
def main():
    pool = multiprocessing.get_context("fork").Pool(3)
    pool.map(abs, range(9))
    {READY}
"""
# Each looks idle for as long as it lives.
IDLE = {
    "pool of multiprocessing": f"{POOL}    time.sleep(1000)\nmain()",
    "pool of futures": f"""
import concurrent.futures, multiprocessing, os, time
pool = concurrent.futures.ProcessPoolExecutor(3, multiprocessing.get_context("fork"))
list(pool.map(abs, range(9)))
{READY}time.sleep(1000)
""",
    "manager": f"""
import multiprocessing, os, time
manager = multiprocessing.get_context("fork").Manager()
shared = manager.dict(a=1)
{READY}time.sleep(1000)
""",
    "server": f"""
import http.server, os
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
{READY}server.serve_forever()
""",
    "child of asyncio": f"""
import asyncio, os
async def main():
    child = await asyncio.create_subprocess_exec("sleep", "1000")
    {READY}    await child.wait()
asyncio.run(main())
""",
}
STUCK = {
    "a full pipe": (
        f"""
import os
there, here = os.pipe()
os.set_blocking(here, True)
with open(here, "wb") as pipe:
    {READY}    pipe.write(bytes(1000000))
""",
        ("waits to write to descriptor", "(pipe:[", "program.py:7"),
    ),
    "the result of a pool": (
        f"""
import multiprocessing, os, threading
def never(each):
    threading.Event().wait()
pool = multiprocessing.get_context("fork").Pool(2)
{READY}pool.map(never, [1])
""",
        ("waits for an Event to be set, in never (program.py:4)", "in <module> (program.py:7)"),
    ),
    "a lock of a thread that does not tell": (
        f"""
import os, threading, time
lock = threading.Lock()
threading.Thread(target=lambda: (lock.acquire(), time.sleep(1000)), daemon=True).start()
while not lock.locked():
    time.sleep(0.01)
{READY}lock.acquire()
""",
        (
            "waits for the Python lock at 0x",
            "in <module> (program.py:8)",
            "who is to end the wait is not known",
        ),
    ),
    "a condition of C": (
        f"""
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
mutex, condition = (ctypes.c_char * 64)(), (ctypes.c_char * 64)()
{READY}libc.pthread_mutex_lock(mutex)
libc.pthread_cond_wait(condition, mutex)
""",
        ("waits to be woken", "in <module> (program.py:7)"),
    ),
}


@contextmanager
def program(folder: Path, text: str) -> Iterator[int]:
    """The PID of a program with this text; its children end with it."""
    path = folder / "program.py"
    path.write_text(text)
    with running(str(path)) as pid:
        try:
            yield pid
        finally:
            os.kill(pid, signal.SIGSTOP)  # else a pool replaces, and reaps, those that end
            os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # all its threads have
            for child in children_of(pid):
                os.kill(child, signal.SIGKILL)


def children_of(pid: int) -> list[int]:
    """Those of all its threads."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for children in lists for word in children.read_text().split()]


def diagnosis(pid: int) -> str:
    """What is seen, without the stacks, on one line."""
    done = dualdbg("stacks", "--tree", str(pid), "--diagnose")
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.partition("\n\n")[0].split())


@pytest.mark.parametrize("kind", IDLE)
def test_who_waits_for_work_is_not_told(kind: str, tmp_path: Path) -> None:
    with program(tmp_path, IDLE[kind]) as pid:
        told = diagnosis(pid)
    assert told.startswith("Nothing that looks wrong"), told


@pytest.mark.parametrize("kind", STUCK)
def test_who_is_stuck_is_told(kind: str, tmp_path: Path) -> None:
    text, parts = STUCK[kind]
    with program(tmp_path, text) as pid:
        wait_until(lambda: read_stat(f"/proc/{pid}/stat").state == "S")
        told = diagnosis(pid)
    assert all(part in told for part in parts), told


def test_a_pool_whose_lock_nobody_has_is_told(tmp_path: Path) -> None:
    with program(tmp_path, f"{POOL}    time.sleep(1000)\nmain()") as pid:
        reader = wait_until(lambda: [one for one in children_of(pid) if reads_a_pipe(one)])[0]
        os.kill(reader, signal.SIGKILL)  # it had the lock of the queue
        wait_until(lambda: reader not in children_of(pid) and len(children_of(pid)) == 3)
        wait_until(lambda: all(read_stat(f"/proc/{one}/stat").state == "S" for one in children_of(pid)))
        told = diagnosis(pid)
    assert "wait for a lock, a semaphore or a queue of multiprocessing" in told, told


def reads_a_pipe(pid: int) -> bool:
    return Path(f"/proc/{pid}/syscall").read_text().startswith(READ)


@pytest.mark.parametrize(
    ("file", "function", "idle"),
    [
        ("/usr/lib/python3.11/multiprocessing/pool.py", "worker", True),
        ("/usr/lib/python3.9/socketserver.py", "serve_forever", True),
        (
            "/v/lib/python3.12/site-packages/joblib/externals/loky/process_executor.py",
            "_process_worker",
            True,
        ),
        ("/v/lib/python3.12/site-packages/ipykernel/iostream.py", "OutStream._watch_pipe_fd", True),
        ("/home/ada/pool.py", "worker", False),
        ("/usr/lib/python3.11/multiprocessing/pool.py", "Pool.map", False),
    ],
)
def test_loops_are_told_by_file_and_function(file: str, function: str, idle: bool) -> None:
    assert is_idle_loop(file, function) is idle
