"""What the user says of Python breakpoints at a native stop, where debugpy is mute, counts from the next line on."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import BreakpointState, Language
from tests.session.driver import Driver, name, run_session

Env = dict[str, str]

# Between the native function and the line after it there is next to no time for debugpy to hear of a breakpoint.
PROGRAM = """\
import sample_capi, sample_pybind, os
reader, writer = os.pipe()
for number in range(8):
    os.write(writer, b"x")
    sample_capi.add(number, 1)
    sample_pybind.wait_for_byte(reader)
    last = number
"""
PLACES = ["capi_add", "sample::read_byte"]  # the one holds the GIL, the other does not


@pytest.mark.parametrize("place", PLACES)
def test_a_breakpoint_that_is_set_at_a_native_stop(tmp_path: Path, env: Env, place: str) -> None:
    path = tmp_path / "late.py"
    path.write_text(PROGRAM)

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        for stop_number in range(8):
            assert stop.origin is Language.NATIVE, stop
            (row,) = await driver.session.breakpoints.add("late.py:7")
            stop = await driver.resume()
            assert (name(stop.frame), stop.breakpoints) == ("late.py:7", (row.id,))
            assert driver.session.breakpoints.get(row.id).state is BreakpointState.VERIFIED
            await driver.session.breakpoints.remove(row.id)
            if stop_number < 7:
                stop = await driver.resume()
        await driver.finish_run()

    run_session(work, path, place, env=env)


@pytest.mark.parametrize("place", PLACES)
def test_a_breakpoint_that_is_removed_or_disabled_at_a_native_stop(
    tmp_path: Path, env: Env, place: str
) -> None:
    path = tmp_path / "late.py"
    path.write_text(PROGRAM)

    async def work(driver: Driver) -> None:
        await driver.stop()
        (row,) = await driver.session.breakpoints.add("late.py:7")
        for enabled in (True, False, True, False):
            await driver.session.breakpoints.enable(row.id, enabled)
            stop = await driver.resume()
            assert (stop.origin is Language.PYTHON) is enabled, stop
            if enabled:
                await driver.resume()
        await driver.finish_run()

    run_session(work, path, place, env=env)
