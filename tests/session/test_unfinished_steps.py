"""A step that a breakpoint cuts short: what becomes of it is told, and is what happens."""

from __future__ import annotations

from pathlib import Path

from dualdbg.model import Notice, Reason
from tests.session.driver import Driver, name, run_session

PROGRAM = """\
import sample_pybind
def twice(v):
    w = v * 2
    return w
a = sample_pybind.call_back(twice, 3.0)
b = twice(a)
c = sample_pybind.scale(b, 2.0)
d = 1
"""
CALL_BACK, SCALE = "::(anonymous namespace)::call_back", "::(anonymous namespace)::scale"
LANDING = "(anonymous namespace)::"


def write(folder: Path) -> Path:
    path = folder / "program.py"
    path.write_text(PROGRAM)
    return path


async def told(driver: Driver) -> list[str]:
    """What was said of a step at the stop that was just shown; it is said right after the stop."""
    driver.session.emit(Notice("info", "end"))
    first = len(driver.seen)
    while (await driver.next(Notice)).message != "end":
        pass
    said = [event.message for event in driver.seen[first:] if isinstance(event, Notice)]
    return [message for message in said if message.startswith("the ")]


def test_a_native_breakpoint_leaves_the_step_to_debugpy(env: dict[str, str], tmp_path: Path) -> None:
    unfinished = "the next from program.py:5 is unfinished: continue completes it, another step forgets it"

    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("next")
        assert (name(stop.frame), stop.reason) == (f"{LANDING}call_back", Reason.BREAKPOINT)
        assert await told(driver) == [unfinished]
        stop = await driver.resume()
        assert (name(stop.frame), stop.reason) == ("program.py:6", Reason.STEP)
        assert await told(driver) == []
        # another step forgets it
        await driver.step("next")
        stop = await driver.step("next")
        assert (name(stop.frame), stop.reason) == (f"{LANDING}scale", Reason.BREAKPOINT)
        assert await told(driver) == [unfinished.replace(":5", ":7")]
        assert name((await driver.step("finish")).frame) == "program.py:7"
        await driver.session.resume()
        assert (await driver.exit()).code == 0

    run_session(work, write(tmp_path), "program.py:5", CALL_BACK, SCALE, env=env)


def test_a_python_breakpoint_ends_the_step(env: dict[str, str], tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("next")
        assert (name(stop.frame), stop.reason) == ("program.py:3", Reason.BREAKPOINT)
        assert await told(driver) == ["the next from program.py:5 is forgotten"]
        stop = await driver.resume()
        assert (name(stop.frame), stop.reason) == ("program.py:7", Reason.BREAKPOINT)
        await driver.finish_run()

    run_session(work, write(tmp_path), "program.py:5", "program.py:3 if v < 4", "program.py:7", env=env)


def test_a_native_step_that_a_breakpoint_cuts_short(env: dict[str, str], tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert name(stop.frame) == f"{LANDING}call_back"
        line = getattr(stop.frame, "line", None)
        stop = await driver.step("next")
        assert (name(stop.frame), stop.reason) == ("program.py:3", Reason.BREAKPOINT)
        assert await told(driver) == [f"the next from sample_pybind.cpp:{line} is forgotten"]
        stop = await driver.resume()
        assert (name(stop.frame), stop.reason) == ("program.py:3", Reason.BREAKPOINT)  # of the line after it
        await driver.finish_run()

    run_session(work, write(tmp_path), CALL_BACK, "program.py:3", env=env)


def test_a_breakpoint_where_the_step_ends_anyway(env: dict[str, str], tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("step")
        assert (name(stop.frame), stop.reason) == (f"{LANDING}call_back", Reason.BREAKPOINT)
        assert await told(driver) == []
        stop = await driver.resume()  # the step is done: it does not stop once more behind the call
        assert (name(stop.frame), stop.reason) == ("program.py:6", Reason.BREAKPOINT)
        stop = await driver.step("next")
        assert (name(stop.frame), stop.reason) == ("program.py:7", Reason.BREAKPOINT)
        assert await told(driver) == []
        await driver.finish_run()

    specs = ("program.py:5", CALL_BACK, "program.py:6", "program.py:7")
    run_session(work, write(tmp_path), *specs, env=env)
