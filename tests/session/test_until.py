"""``until``: the next line below, out of loops, in Python, C++ and Cython; or a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.errors import CommandError
from dualdbg.model import Frame, NativeFrame, Reason
from tests import rows
from tests.native_corpus.test_cython_steps import SOURCE as STEPS
from tests.native_corpus.test_stops import corpus
from tests.session.driver import Driver, name, run_session

PROGRAM = """\
import sample_pybind
def work(v):
    total = 0
    for n in range(50):
        total += n
        if total > 10**9:
            return 0
    return total + v
a = sample_pybind.call_back(work, 3.0)
b = sample_pybind.outer(1.0, 30)
c = 1
"""


def test_until_leaves_loops(env: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)

    async def work(driver: Driver) -> None:
        await driver.stop()
        assert name((await driver.step("next")).frame) == "program.py:6"
        assert name((await driver.step("next")).frame) == "program.py:4"  # back at the head
        await driver.session.breakpoints.remove(1)
        assert name((await driver.step("until")).frame) == "program.py:5"  # the line below
        assert name((await driver.step("until")).frame) == "program.py:6"
        stop = await driver.step("until")  # the last line of the loop that runs
        assert (name(stop.frame), stop.reason) == ("program.py:8", Reason.STEP)
        stop = await driver.step("until")
        # The native code that called the function.
        assert name(stop.frame) == "(anonymous namespace)::call_back"
        stop = await driver.step("until", "program.py:11")
        assert name(stop.frame) == "program.py:11"
        await driver.finish_run()

    run_session(work, script, "program.py:5", env=env)


def test_until_leaves_a_native_loop(env: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    source = (Path(__file__).parents[2] / "samples" / "native" / "helper.cpp").read_text().splitlines()
    body = next(number for number, text in enumerate(source, 1) if "for (" in text)

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        await driver.session.breakpoints.remove(1)
        lines = []
        while name(stop.frame) == "sample::inner_loop":
            lines.append(getattr(stop.frame, "line", 0))
            stop = await driver.step("until")
        # 30 rounds are not seen; the condition of the loop, on its first line, is behind its body in the code
        assert len(lines) < 10 and lines[-1] == max(lines), lines
        assert name(stop.frame) == "sample::helper"
        await driver.finish_run()

    run_session(work, script, f"helper.cpp:{body}", env=env)


def test_a_place_that_there_is_not_lets_nothing_run(tmp_path: Path) -> None:
    path = tmp_path / "short.py"
    path.write_text("a = 1\nb = 2\n")

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        with pytest.raises(CommandError, match="has 2 lines"):
            await driver.session.step("until", "short.py:99")
        assert driver.session.stop == stop
        assert len(driver.session.breakpoints.all()) == 1
        await driver.finish_run()

    run_session(work, path, "short.py:1")


def test_a_place_is_none_any_more_when_something_else_stops_first(
    env: dict[str, str], tmp_path: Path
) -> None:
    """In either language, from a stop of either: the breakpoint of ``until PLACE`` goes, as gdb's own does."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)

    async def work(driver: Driver) -> None:
        table = driver.session.breakpoints
        await driver.stop()
        wanted = [row.id for row in table.all()]
        for place in ("program.py:11", "sample::outer"):
            stop = await driver.step("until", place)
            assert (name(stop.frame), stop.breakpoints) == ("program.py:5", (1,))
            assert [row.id for row in table.all()] == wanted
        await table.remove(1)
        await driver.session.breakpoints.add("call_back")
        assert name((await driver.step("until", "program.py:8")).frame) == "program.py:8"
        rows = await table.add("sample::outer")
        stop = await driver.step("until", "program.py:11")
        assert (name(stop.frame), stop.breakpoints) == ("sample::outer", (rows[0].id,))
        stop = await driver.step("until", "program.py:11")
        assert name(stop.frame) == "program.py:11"
        with pytest.raises(CommandError, match=r"until program\.py:99999"):
            await driver.step("until", "program.py:99999")
        assert not [row for row in table.all() if row.spec.temporary]
        await driver.finish_run()

    run_session(work, script, "program.py:5", env=env)


@pytest.mark.parametrize("level", rows.some(["O2", "O0"], 1))
def test_until_leaves_loops_of_cython(level: str, tmp_path: Path) -> None:
    lines = [line.strip() for line in STEPS.read_text().splitlines()]
    inc, returns = lines.index("c.inc(i)") + 1, lines.index("return c.count") + 1
    branches, last = lines.index("elif i == 2:") + 2, lines.index("return odd, even") + 1
    script = tmp_path / "program.py"
    script.write_text(
        "import corpus_steps\nf = print\ncorpus_steps.counted(3, f)\ncorpus_steps.branches(5, f)\n"
    )

    async def work(driver: Driver) -> None:
        def at(frame: Frame | None) -> int | None:
            assert isinstance(frame, NativeFrame)
            return frame.line

        assert at((await driver.stop()).frame) == inc
        await driver.session.breakpoints.remove(1)
        assert at((await driver.step("until")).frame) == inc + 1
        assert at((await driver.step("until")).frame) == returns  # the two rounds that are left are run
        assert name((await driver.step("until")).frame) == "program.py:3"
        await driver.session.resume()
        assert at((await driver.stop()).frame) == branches
        assert at((await driver.step("until", f"corpus_steps.pyx:{last}")).frame) == last
        await driver.finish_run()

    specs = (f"corpus_steps.pyx:{inc}", f"corpus_steps.pyx:{branches}")
    run_session(work, script, *specs, env=corpus("cython-steps", level))
