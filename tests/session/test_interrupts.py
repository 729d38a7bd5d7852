"""A SIGINT of the program's own does what it does without a debugger, whichever thread the kernel gives it to."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.session.driver import Driver, run_session

SLEEPING = """\
import os, threading, time, sample_pybind
def work():
    while True:
        sample_pybind.add(1.0, 2.0)
        time.sleep(0.01)
try:
    threading.Thread(target=work, daemon=True).start()
    time.sleep(1000)
except KeyboardInterrupt:
    os._exit(7)
"""


def test_it_wakes_the_main_thread(tmp_path: Path, env: dict[str, str]) -> None:
    """While gdb holds every thread, the first that runs again takes the signal: here one that works."""
    script = tmp_path / "program.py"
    script.write_text(SLEEPING)

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.thread.tid != driver.session.pid
        os.kill(driver.session.pid, signal.SIGINT)
        assert (await driver.finish_run()).code == 7

    run_session(work, script, "sample_pybind.cpp:17", env=env)


TO_ONE_THREAD = """\
import ctypes, os, signal, threading, time
takers = []
@ctypes.CFUNCTYPE(None, ctypes.c_int)
def handler(number):
    takers.append(threading.get_native_id())
ctypes.CDLL(None).signal(signal.SIGINT, handler)
def work():
    while not takers:
        time.sleep(0.01)
thread = threading.Thread(target=work)
thread.start()
signal.pthread_kill(thread.ident, signal.SIGINT)
thread.join()
os._exit(7 if takers == [thread.native_id] else 8)
"""


def test_one_that_was_sent_to_a_thread_is_the_threads(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(TO_ONE_THREAD)

    async def work(driver: Driver) -> None:
        assert (await driver.exit()).code == 7

    run_session(work, script)
