"""gdb says that the target runs, and then that it could not let it run."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

from dualdbg.model import Exit, State
from dualdbg.system.process_end import has_ended
from tests.session.driver import Driver, run_session
from tests.support import wait_until

SCRIPT = """\
x = 1
y = 2
print(x + y)
"""


def at_a_python_stop(work: Callable[[Driver], Awaitable[None]], tmp_path: Path, *breakpoints: str) -> None:
    """``work`` in a session whose program stands at its second line, where debugpy holds it."""
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)

    async def begin(driver: Driver) -> None:
        await driver.stop()
        assert driver.session.state is State.PYTHON_STOPPED
        await work(driver)

    run_session(begin, script, "program.py:2", *breakpoints)


def test_a_breakpoint_that_cannot_be_inserted(tmp_path: Path) -> None:
    """The target stands where it stood, which is a stop, and the user hears why."""

    async def work(driver: Driver) -> None:
        session = driver.session

        async def add_one_at_an_address_that_nothing_has() -> None:
            await session.native.user_command("break *16")

        await session.interrupted(add_one_at_an_address_that_nothing_has)
        await driver.stop()
        assert session.state is State.NATIVE_STOPPED
        assert any(
            "could not let the target run" in one.message and "address 0x10" in one.message
            for one in driver.notices
        )
        await session.native.user_command("delete")
        await driver.resume()
        assert session.state is State.PYTHON_STOPPED  # as before
        assert (await driver.finish_run()).code == 0

    at_a_python_stop(work, tmp_path)


def test_the_target_was_killed_while_gdb_held_it(tmp_path: Path) -> None:
    """gdb cannot put its breakpoints into a dead process; its end is told all the same."""

    async def work(driver: Driver) -> None:
        session = driver.session

        async def kill() -> None:
            os.kill(session.pid, signal.SIGKILL)
            wait_until(lambda: has_ended(session.pid), 60, "it is dead")

        await session.interrupted(kill)
        assert await driver.exit() == Exit(signal=signal.SIGKILL)
        assert session.state is State.EXITED

    at_a_python_stop(work, tmp_path, "PyCapsule_SetDestructor")
