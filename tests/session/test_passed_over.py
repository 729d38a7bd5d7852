"""A step that goes over a library's Python code says so: over a library that the program calls, and no other."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path

from tests.session.driver import Driver, run_session

PASSED_OVER = "code of a library was passed over"


async def _is_told(driver: Driver, kinds: list[str]) -> bool:
    await driver.stop()
    for kind in kinds:
        await driver.step(kind)
    told = PASSED_OVER in [one.message for one in driver.notices]
    await driver.finish_run()
    return told


def test_a_library_that_the_program_calls(tmp_path: Path) -> None:
    program = tmp_path / "calls.py"
    program.write_text("import json\ndata = [1]\ntext = json.dumps(data)\nprint(text)\n")
    assert run_session(lambda driver: _is_told(driver, ["step"]), program, "calls.py:3")


def test_a_library_that_the_debugger_calls(crossing: Path, env: dict[str, str]) -> None:
    def walk(driver: Driver) -> Awaitable[bool]:
        return _is_told(driver, ["step", "next", "next", "next"])  # out of native code by an exception

    assert not run_session(walk, crossing, "crossing.py:13", env=env)
