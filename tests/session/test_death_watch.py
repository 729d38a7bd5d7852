"""The end of a program of which gdb does not tell."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.model import Exit, Exited
from dualdbg.system.patience import patient
from dualdbg.system.process_end import HeldProcess, end_of
from tests.session.driver import Driver, run_session
from tests.support import KERNEL_TELLS, wait_until

PROGRAM = """\
import threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
while True:
    time.sleep(0.01)
"""


def test_a_gdb_that_notices_nothing(tmp_path: Path) -> None:
    """As after a kill in the moment in which gdb lets the program run: it says nothing of the program from then on."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.resume()
        assert driver.session.native.pid is not None
        os.kill(driver.session.native.pid, signal.SIGSTOP)
        try:
            os.kill(driver.session.pid, signal.SIGKILL)
            ended = await driver.next(Exited)
            assert ended.exit == Exit(signal=signal.SIGKILL)
        finally:
            os.kill(driver.session.native.pid, signal.SIGCONT)

    run_session(work, path, "program.py:2")


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("import os; os._exit(7)", Exit(7)),
        ("import os; os.kill(os.getpid(), 9)", Exit(signal=9)),
        ("import os; os.kill(os.getpid(), 15)", Exit(signal=signal.SIGTERM)),
    ],
)
def test_how_it_ended_is_read_while_it_is_not_reaped(code: str, end: Exit) -> None:
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        wait_until(lambda: end_of(process.pid) is not None, 60, "the end")
        assert end_of(process.pid) == end
    assert end_of(process.pid) is None  # it is reaped


def test_what_lives_has_no_end() -> None:
    assert end_of(os.getpid()) is None


@pytest.mark.parametrize(
    ("how", "end"),
    [("exit 7", Exit(7)), ("kill -KILL $$", Exit(signal=9)), ("kill -40 $$", Exit(signal=40))],
)
def test_how_it_ended_is_known_after_its_parent_has_reaped_it(how: str, end: Exit) -> None:
    script = f"exec 3<&0; sh -c 'read line; {how}' <&3 & echo $!; wait; echo reaped"
    with subprocess.Popen(
        ["/bin/sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        child = int(parent.stdout.readline())

        async def hold() -> Exit:
            held = HeldProcess(child)
            parent.communicate("go\n", timeout=patient(60))
            assert not Path(f"/proc/{child}").exists()
            exit = await held.wait()
            held.send(signal.SIGTERM)  # to nobody
            held.close()
            return exit

        assert asyncio.run(hold()) == (end if KERNEL_TELLS else Exit())


def test_what_has_ended_cannot_be_held() -> None:
    with subprocess.Popen(["/bin/true"]) as process:
        process.wait()

    async def hold() -> None:
        HeldProcess(process.pid)

    with pytest.raises(ProcessLookupError):
        asyncio.run(hold())
