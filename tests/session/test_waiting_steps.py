"""What lets a program run while a step has not begun, or has just ended: no stop is lost by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dualdbg.model import Language
from tests.session.driver import Driver, run_session

PROGRAM = "x = 1\ny = 2\nz = 3\n"


def test_a_thread_that_has_stopped_is_not_let_go(tmp_path: Path) -> None:
    """A step may end while the wish to go on is on its way: the stop stands, and can be asked."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    async def work(driver: Driver) -> tuple[Any, str, list[str]]:
        stop = await driver.stop()
        inspector = driver.session.inspector
        assert stop.thread is not None and stop.frame is not None
        wanted = {"threadId": inspector.debugpy_thread(stop.thread.tid), "dualdbgUnlessStopped": True}
        answer = await inspector.relay("continue", wanted)
        value = await inspector.evaluate("x", stop.thread.tid, stop.frame, Language.PYTHON)
        await driver.step("next")
        names = await driver.names()
        await driver.finish_run()
        return answer, value.value, names

    answer, value, names = run_session(work, program, f"{program}:2")
    assert (answer, value, names) == ({"allThreadsContinued": False}, "1", ["program.py:3"])
