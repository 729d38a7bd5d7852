"""A stop at a line of optimised code is shown at that line, in its function; what may not stop is called uncertain."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import BreakpointState, Exited, Stopped
from tests import rows
from tests.native_corpus.build import SOURCES
from tests.native_corpus.test_stops import corpus, native_frame, script
from tests.session.driver import Driver, run_session

PROGRAM = """\
import shown
shown.run(abs)
print("over")
"""
TEXTS = {name: (SOURCES / name).read_text().splitlines() for name in ("shown.cpp", "shown.hpp")}


def at(file: str, text: str) -> str:
    """The breakpoint on the one line of a source that begins so."""
    (line,) = [number for number, one in enumerate(TEXTS[file], 1) if one.strip().startswith(text)]
    return f"{file}:{line}"


@pytest.mark.parametrize("variant", rows.some(["O3-lto", "O2"], 1))
def test_a_line_is_shown_as_one_of_its_source(variant: str, tmp_path: Path) -> None:
    """Not as what was inlined at its beginning from the C++ library, nor as what calls a lambda. Of several lines that
    begin at one address debug info tells one.
    """
    lines = [f"{file}:{line}" for file, text in TEXTS.items() for line in range(10, len(text) + 1)]

    async def work(driver: Driver) -> None:
        await driver.stop()
        table, told, wrong = driver.session.breakpoints, {}, []
        for spec in lines:
            (row,) = await table.add(f"{spec} temporary")
            told[row.id] = (row.state, {f"{Path(one.file or '').name}:{one.line}" for one in row.locations})
            assert (row.state is BreakpointState.UNCERTAIN) == (row.message or "").endswith("or never")
        await driver.session.resume()
        while isinstance(event := await driver.next(Stopped, Exited), Stopped):
            frame = native_frame(event.stop)
            if Path(frame.file or "").name not in TEXTS:
                wrong.append((frame, [told[id] for id in event.stop.breakpoints]))
            await driver.session.resume()
        states = [state for state, _ in told.values()]
        assert not wrong
        assert states.count(BreakpointState.VERIFIED) > 40 and BreakpointState.UNCERTAIN in states

    run_session(work, script(tmp_path, PROGRAM), "drive.py:2", env=corpus("shown", variant))


@pytest.mark.parametrize("variant", rows.some(["O3-lto", "O2"], 1))
def test_a_method_that_begins_with_one_of_the_same_name(variant: str, tmp_path: Path) -> None:
    """It was inlined, and so was the C++ library's in it."""

    async def work(driver: Driver) -> None:
        seen = set()
        for _ in range(2):
            frame = native_frame(await driver.stop())
            seen.add((frame.function, Path(frame.file or "").name))
            await driver.session.resume()
        assert seen == {("Bag::operator=", "shown.hpp"), ("Bag::clear", "shown.hpp")}
        await driver.exit()

    run_session(
        work,
        script(tmp_path, PROGRAM),
        "Bag::operator= temporary",
        "Bag::clear temporary",
        env=corpus("shown", variant),
    )


def test_lines_at_the_end_of_a_header(tmp_path: Path) -> None:
    """None that begins a statement follows."""

    async def work(driver: Driver) -> None:
        frame = native_frame(await driver.stop())
        assert (frame.function, f"shown.hpp:{frame.line}") == ("Bag::text", spec)
        await driver.session.resume()
        await driver.stop()
        assert driver.session.breakpoints.get(1).hit_count == 2
        await driver.finish_run()

    spec = at("shown.hpp", "std::string text()")
    run_session(work, script(tmp_path, PROGRAM), spec, env=corpus("shown"))


@pytest.mark.parametrize("variant", ["O0", "O2", "O3-lto"])
def test_next_passes_a_handler_in_what_was_inlined_into_the_line(variant: str, tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        frame, seen = native_frame(await driver.resume()), []
        while frame.function == "with_handler":
            seen.append(f"shown.cpp:{frame.line}")
            frame = native_frame(await driver.step("next"))
        assert at("shown.cpp", "return found") in seen and frame.function == "run", (seen, frame)
        await driver.finish_run()

    run_session(work, script(tmp_path, PROGRAM), "with_handler", env=corpus("shown", variant))
