"""Seeded random walks over the sample: no hang, no lost stop, no frame that is not there, the same result."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dualdbg.errors import CommandError
from dualdbg.model import Exited, PythonFrame, Quality, State, Stopped
from tests.session.driver import Driver, name, run_session

COMMANDS = ("step", "step", "next", "next", "finish", "continue", "stack")
LINES = 18  # of the script


async def one_walk(driver: Driver, dice: random.Random, steps: int) -> list[str]:
    """Random commands until the program ends; what was done, for the message of a failure."""
    trail = []
    event = await driver.next(Stopped, Exited)
    for _ in range(steps):
        if isinstance(event, Exited):
            break
        command = dice.choice(COMMANDS)
        trail.append(f"{command} at {name(event.stop.frame) if event.stop.frame else None}")
        if command == "stack":
            await check_stack(driver, trail)
            continue
        try:
            if command == "continue":
                await driver.session.resume()
            else:
                await driver.session.step(command)
        except CommandError as error:
            trail.append(error.message)
            continue
        event = await driver.next(Stopped, Exited)
    if not isinstance(event, Exited):
        exit = await driver.finish_run()
        assert exit.code == 0, trail
    return trail


async def check_stack(driver: Driver, trail: list[str]) -> None:
    """A whole stack whose Python frames are lines of the script, the module's frame outermost."""
    stack = await driver.stack()
    assert stack.quality is Quality.FULL, (stack.note, trail)
    python = [frame for frame in stack.visible() if isinstance(frame, PythonFrame)]
    assert python and python[-1].function == "<module>", (python, trail)
    for frame in python:
        assert Path(frame.file or "").name == "crossing.py" and 1 <= (frame.line or 0) < LINES, (frame, trail)
    if driver.session.state is State.PYTHON_STOPPED:
        assert driver.session.stop is not None
        top = driver.session.stop.frame
        assert isinstance(top, PythonFrame) and (python[0].line == top.line), (python[0], top, trail)


@pytest.mark.parametrize("seed", range(6))
def test_random_walk(
    crossing: Path, env: dict[str, str], seed: int, capfd: pytest.CaptureFixture[str]
) -> None:
    dice = random.Random(seed)
    specs = dice.sample(["crossing.py:5", "crossing.py:3", "call_back", "capi_outer", "crossing.py:9"], 2)

    async def work(driver: Driver) -> list[str]:
        return await one_walk(driver, dice, 25)

    run_session(work, crossing, *specs, env=env)
    assert capfd.readouterr().out.split() == ["3.5", "4.833333333333334", "21.0", "2.23606797749979", "7.0"]
