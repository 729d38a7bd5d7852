"""An extension that was made with PyO3: functions and methods by name, steps, variables, errors and panics."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from dualdbg.model import NativeFrame, PythonFrame, Role
from tests import rows, support
from tests.session.driver import Driver, name, run_session

LEVELS = [pytest.param("O0", marks=pytest.mark.exhaustive), "O2"]

PROGRAM = """\
import sample_pyo3 as s
def twice(v):
    w = v * 2
    return w
a = s.tally([1, 2, 3], 2)
k = s.Counter(4)
b = k.increase(2)
c = k.doubled
e = len(k)
g = s.call_back(twice)
try:
    s.checked(-1)
except ValueError as error:
    kept = error
try:
    s.checked(3)
except BaseException as error:
    kept = error
print(a, b, c, e, g, repr(kept))
"""


def program(folder: Path) -> Path:
    path = folder / "program.py"
    path.write_text(PROGRAM)
    return path


def environment(level: str) -> dict[str, str]:
    return {"PYTHONPATH": str(support.build_pyo3(level)), "RUST_BACKTRACE": "0"}


async def where(driver: Driver) -> str:
    frame = next(one for one in (await driver.stack()).visible() if one.role is Role.USER)
    return name(frame) if isinstance(frame, PythonFrame) else f"{name(frame)}:{frame.line}"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("spec", "function", "line"),
    rows.some(
        [
            ("sample_pyo3::tally", "sample_pyo3::tally", 5),
            ("Counter::increase", "sample_pyo3::Counter::increase", 7),
            ("weigh", "sample_pyo3::weigh", 5),
            ("tally", "sample_pyo3::tally", 5),
            ("Counter::doubled", "sample_pyo3::Counter::doubled", 8),
            ("Counter::__len__", "sample_pyo3::Counter::__len__", 9),
            ("sample_pyo3::call_back", "sample_pyo3::call_back", 10),
        ],
        3,
    ),
)
@pytest.mark.usefixtures("pyo3_crates")
def test_a_function_stops_by_its_name(
    tmp_path: Path, level: str, spec: str, function: str, line: int
) -> None:
    """Also where the compiler has put it into what PyO3's macros make, which is glue."""

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.breakpoints == (1,)
        frames = (await driver.stack()).visible()
        assert isinstance(frames[0], NativeFrame) and frames[0].source_language == "rust"
        assert (name(frames[0]), frames[0].role) == (function, Role.USER)
        users = [one for one in frames if isinstance(one, NativeFrame) and one.role is Role.USER]
        assert {name(one) for one in users} <= {function, "sample_pyo3::tally"}
        python = next(one for one in frames if isinstance(one, PythonFrame))
        assert python.line == line
        hits = 3 if spec == "weigh" else 1
        for _ in range(hits - 1):
            await driver.resume()
        assert driver.session.breakpoints.get(1).hit_count == hits
        await driver.finish_run()

    run_session(work, program(tmp_path), spec, env=environment(level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("line", "ends"),
    rows.some(
        [
            (7, "sample_pyo3::Counter::increase:58"),
            (10, "sample_pyo3::call_back:23"),
            (12, "sample_pyo3::checked:29"),
            (8, "sample_pyo3::Counter::doubled:70"),
            (9, "sample_pyo3::Counter::__len__:80"),
        ],
        3,
    ),
)
@pytest.mark.usefixtures("pyo3_crates")
def test_a_step_enters_the_authors_function_and_finish_leaves_it(
    tmp_path: Path, level: str, line: int, ends: str
) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.step("step")
        assert await where(driver) == ends
        await driver.step("finish")
        assert await where(driver) == f"program.py:{line}"
        await driver.finish_run()

    run_session(work, program(tmp_path), f"program.py:{line}", env=environment(level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.usefixtures("pyo3_crates")
def test_next_goes_from_line_to_line(tmp_path: Path, level: str) -> None:
    """Though each round of the loop begins with code of Rust's library, and the function was inlined itself."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.step("step")
        found = []
        while (place := await where(driver)).startswith("sample_pyo3::tally"):
            found.append(int(place.rpartition(":")[2]))
            await driver.step("next")
        lines = [line for line, _ in itertools.groupby(found)]  # rustc has several statements on a line
        assert lines[lines.index(9) :][:6] == [9, 10] * 3
        assert place == "program.py:5"
        await driver.finish_run()

    run_session(work, program(tmp_path), "program.py:5", env=environment(level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.usefixtures("pyo3_crates")
def test_a_panic_selects_the_line_that_raised_it(tmp_path: Path, level: str) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert isinstance(stop.frame, NativeFrame) and name(stop.frame) == "sample_pyo3::halved"
        said = f"panic: odd: 3, thrown in sample_pyo3::halved at lib.rs:{stop.frame.line}, called from program.py:16"
        assert stop.description == said
        assert (await driver.finish_run()).code == 0

    run_session(work, program(tmp_path), "throw:panic", env=environment(level))


@pytest.mark.exhaustive
@pytest.mark.usefixtures("pyo3_crates")
def test_variables_are_those_of_the_author(tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        frame = (await driver.stack()).visible()[0]
        rows = {
            row.name: row.value for row in await driver.session.inspector.variables(stop.thread.tid, frame)
        }
        assert rows == {"value": "1", "step": "2"}
        await driver.finish_run()

    run_session(work, program(tmp_path), "weigh", env=environment("O0"))
