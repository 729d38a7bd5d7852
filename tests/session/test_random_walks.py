"""Seeded random walks over the sample: no hang, no lost stop, no frame that is not there, the same result.

``DUALDBG_WALKS=1000 pytest tests/session/test_random_walks.py`` walks that often, ``DUALDBG_WALKS=40-60`` those seeds.
"""

from __future__ import annotations

import ast
import os
import random
import re
from pathlib import Path

import pytest

from dualdbg.backends.gdb import GdbEngine
from dualdbg.errors import CommandError
from dualdbg.model import Exited, Language, NativeFrame, PythonFrame, Quality, Reason, Stack, State, Stopped
from tests.session.driver import Driver, name, run_session

COMMANDS = ("step", "step", "next", "next", "finish", "until", "continue", "stack", "break", "delete")
SPECS = (
    "crossing.py:5",
    "crossing.py:3",
    "crossing.py:9",
    "crossing.py:16",
    "call_back",
    "capi_outer",
    "capi_add",
)
STEPS = 25
# What the interpreter says of the selected frame's stack: name and line, innermost first. debugpy evaluates in a
# frame of its own on top of it, so the walk begins where the program's own file does.
_OWN_STACK = """[
    (frame.f_code.co_name, frame.f_lineno)
    for frame in (lambda f: iter(lambda s=[f]: (s[0], s.__setitem__(0, s[0] and s[0].f_back))[0], None))(
        __import__("sys")._getframe()
    )
    if frame.f_code.co_filename.endswith("crossing.py")
]""".replace("\n", " ")


def _seeds() -> list[int]:
    wanted = os.environ.get("DUALDBG_WALKS", "20" if os.environ.get("DUALDBG_TEST_ALL") == "1" else "3")
    first, dash, last = wanted.partition("-")
    return list(range(int(first), int(last))) if dash else list(range(int(wanted)))


async def one_walk(driver: Driver, dice: random.Random, trail: list[str]) -> None:
    """Random commands until the program ends; ``trail`` says what was done, for the message of a failure."""
    event = await driver.next(Stopped, Exited)
    for _ in range(STEPS):
        if isinstance(event, Exited):
            break
        command = dice.choice(COMMANDS)
        trail.append(f"{command} at {name(event.stop.frame) if event.stop.frame else None}")
        try:
            if command in _ASIDE:
                await _ASIDE[command](driver, dice)
                continue
            await (driver.session.resume() if command == "continue" else driver.session.step(command))
        except CommandError as error:
            trail.append(error.message)
            continue
        event = await driver.next(Stopped, Exited)
    if not isinstance(event, Exited):
        for row in driver.session.breakpoints.all():
            await driver.session.breakpoints.remove(row.id)
        await driver.session.resume()
        event = await driver.next(Stopped, Exited)
        if isinstance(event, Stopped):  # a step that a breakpoint had cut short is completed first
            assert event.stop.reason is Reason.STEP, event
            await driver.session.resume()
            event = await driver.next(Stopped, Exited)
    assert isinstance(event, Exited) and event.exit.code == 0, event


async def set_breakpoint(driver: Driver, dice: random.Random) -> None:
    await driver.session.breakpoints.add(dice.choice(SPECS))


async def delete_breakpoint(driver: Driver, dice: random.Random) -> None:
    rows = driver.session.breakpoints.all()
    if rows:
        await driver.session.breakpoints.remove(dice.choice(rows).id)


async def check_stack(driver: Driver, dice: random.Random) -> None:
    """A whole stack: its Python frames are those that Python reports, its native frames those that gdb reports."""
    stack = await driver.stack()
    assert stack.quality is Quality.FULL, stack.note
    python = [frame for frame in stack.visible() if isinstance(frame, PythonFrame)]
    assert python and python[-1].function == "<module>", python
    assert all(Path(frame.file or "").name == "crossing.py" for frame in python), python
    if driver.session.state is State.PYTHON_STOPPED:
        await check_python(driver, python)
    else:
        await check_native(driver, stack)


async def check_python(driver: Driver, python: list[PythonFrame]) -> None:
    stop = driver.session.stop
    assert stop is not None and stop.frame is not None
    value = await driver.session.inspector.evaluate(_OWN_STACK, stop.thread.tid, stop.frame, Language.PYTHON)
    own = ast.literal_eval(value.value)
    shown = [(frame.function, frame.line) for frame in python]
    assert shown == own[-len(shown) :] and shown[0][1] == getattr(stop.frame, "line", None), (shown, own)


async def check_native(driver: Driver, stack: Stack) -> None:
    native = [frame for frame in stack.frames if isinstance(frame, NativeFrame)]
    number = await driver.session.inspector.gdb_thread(stack.thread)
    native_engine = driver.session.native
    assert isinstance(native_engine, GdbEngine)
    # MI's own list: another way than the session's, through the process below the engine's methods
    answer = await native_engine._process.command(f"-stack-list-frames --thread {number}")
    own = [_row(row.values) for row in answer.rows("stack")]
    assert {(frame.level, frame.pc) for frame in native} <= {(level, pc) for level, pc, _, _ in own}
    by_level = {level: (function, line) for level, _, function, line in own}
    for frame in native:
        function, line = by_level[frame.level]
        assert frame.line == line, (frame, line)
        if line is not None:  # without debug info gdb knows no names: it was not given the symbols
            assert re.findall(r"[A-Za-z_]\w*", frame.function or "")[-1] in function, (frame, function)
    levels = [frame.level for frame in native]
    assert levels == sorted(levels)


def _row(row: dict[str, str]) -> tuple[int, int, str, int | None]:
    return (
        int(row["level"]),
        int(row["addr"], 16),
        row.get("func", "??"),
        int(row["line"]) if "line" in row else None,
    )


_ASIDE = {"stack": check_stack, "break": set_breakpoint, "delete": delete_breakpoint}


@pytest.mark.parametrize("seed", _seeds())
def test_random_walk(
    crossing: Path, env: dict[str, str], seed: int, capfd: pytest.CaptureFixture[str]
) -> None:
    dice = random.Random(seed)
    specs = dice.sample(SPECS, 2)
    trail = [f"breakpoints {specs}"]

    async def work(driver: Driver) -> None:
        try:
            await one_walk(driver, dice, trail)
        except BaseException:
            print("\n".join(["", f"seed {seed}:", *trail, *map(str, driver.seen[-5:])]))
            raise

    run_session(work, crossing, *specs, env=env)
    expected = ["3.5", "4.833333333333334", "21.0", "2.23606797749979", "7.0"]
    assert capfd.readouterr().out.split() == expected, trail
