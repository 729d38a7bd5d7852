"""gdb keeps the values of one stop, not those of every stop before."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.errors import StaleHandle
from dualdbg.model import Language
from tests.session.driver import Driver, run_session

PROGRAM = """\
import sample_pybind
for i in range(6):
    sample_pybind.add(float(i), 0.5)
"""
ARRAY = "*(char(*)[8])$sp"  # has members, so that a handle is given


async def kept(driver: Driver) -> int:
    answer = await driver.session.native.user_command(
        "python import dualdbg_engine.values as values; print(len(values._kept))"
    )
    return int(answer)


def test_the_values_of_a_stop_are_forgotten_when_the_target_runs(
    tmp_path: Path, env: dict[str, str], native_samples: Path
) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)

    async def work(driver: Driver) -> None:
        counts = []
        stop = await driver.stop()
        for _ in range(4):
            assert stop.frame is not None
            inspector = driver.session.inspector
            value = await inspector.evaluate(ARRAY, stop.thread.tid, stop.frame, Language.NATIVE)
            assert len(await inspector.children(value.reference)) == 8
            await inspector.evaluate(ARRAY, stop.thread.tid, stop.frame, Language.NATIVE)
            counts.append(await kept(driver))
            stop = await driver.resume()
            assert await kept(driver) == 0
            with pytest.raises(StaleHandle):
                await inspector.children(value.reference)
        assert counts == [2] * 4
        await driver.finish_run()

    run_session(work, path, "sample_pybind.cpp:17", env=env)
