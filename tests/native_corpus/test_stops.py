"""What a stop at a function of optimised code says, what can be typed there, and whose calls count."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from dualdbg.model import Breakpoint, BreakpointState, NativeFrame, Stop
from dualdbg.shared.requests.values import Evaluate
from tests import rows, support
from tests.native_corpus.build import HERE
from tests.session.driver import Driver, run_session

DRIVE = "import corpus_capi\ncorpus_capi.run(3)\nprint('over')\n"


def corpus(layer: str = "capi", variant: str = "O2") -> dict[str, str]:
    return {"PYTHONPATH": str(support.built(HERE / "build.py", layer, variant))}


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "drive.py"
    path.write_text(text)
    return path


def native_frame(stop: Stop) -> NativeFrame:
    assert isinstance(stop.frame, NativeFrame), stop
    return stop.frame


async def frames_of(driver: Driver) -> list[NativeFrame]:
    return [frame for frame in (await driver.stack()).frames if isinstance(frame, NativeFrame)]


# A function, an argument of it, the line where it is shown, and its callers.
ASKED_FOR = [
    ("corpus::leading", "given", "int more = first(given);", ["corpus::run"]),
    ("corpus::second", "value", "COUNT(second);", ["corpus::first", "corpus::leading", "corpus::run"]),
    ("corpus::walk", "n", "", ["corpus::walk_one", "corpus::run"]),
    ("corpus::first", "start", "int more = second(start);", ["corpus::leading", "corpus::run"]),
    ("corpus::use", "a", "", ["corpus::run"]),
]
AGAIN = "import corpus_capi\nfor _ in range(20):\n    corpus_capi.run(3)\nprint('over')\n"


async def in_a_new_run(driver: Driver, spec: str) -> tuple[Stop, Breakpoint]:
    """The first stop at ``spec``, alone, in the next run of the corpus."""
    breakpoints = driver.session.breakpoints
    for at in ("drive.py:3", spec):
        for row in breakpoints.all():
            await breakpoints.remove(row.id)
        (row,) = await breakpoints.add(at)
        stop = await driver.resume()
    return stop, breakpoints.get(row.id)


def test_a_stop_in_optimised_code_shows_what_was_asked_for(tmp_path: Path) -> None:
    """Though what was inlined at its beginning begins there too; by its own names, in conditions and texts as well."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        for name, argument, line, callers in ASKED_FOR:
            stop, row = await in_a_new_run(driver, f"{name} if {argument} >= 0")
            frame = native_frame(stop)
            shown = [one.function.partition("(")[0] for one in await frames_of(driver) if one.function]
            assert frame.function is not None and frame.function.partition("(")[0] == name
            assert shown[: len(callers) + 1] == [name, *callers]
            assert frame.file is not None and frame.line is not None
            text = Path(frame.file).read_text().splitlines()[frame.line - 1].strip()
            assert text.startswith((line, "NOINLINE", "static inline"))
            value = await driver.session.native.ask(Evaluate(1, 0, argument))
            assert value.value.isdigit() or value.value == "<optimized out>", value
            if name == "corpus::walk":
                into = {(one.inlined_in or "").partition("(")[0] for one in row.locations}
                assert into == {"corpus::walk_one", "corpus::walk_two", "corpus::walk_three"}
                assert len(row.locations) >= 4

        # The steps of a function that begins with an inlined one.
        frame = native_frame((await in_a_new_run(driver, "corpus::leading"))[0])
        first = frame.line or 0
        for line_ in (first + 1, first + 2):
            frame = native_frame(await driver.step("next"))
            assert (frame.function, frame.line) == ("corpus::leading", line_)

        _, row = await in_a_new_run(driver, "corpus::leading hits 2 if given > 0")
        assert row.hit_count == 2
        value = await driver.session.native.ask(Evaluate(1, 0, "given"))
        assert value.value == "2"

        empty = line_of("Compilers make a loop of it")
        stop, row = await in_a_new_run(driver, f"corpus.cpp:{empty}")
        assert native_frame(stop).function == "corpus::factorial"
        assert row.message is not None
        assert row.message.startswith(f"corpus.cpp:{empty} has no code: it stops at line ")
        assert row.message.endswith("in corpus::factorial, which begins behind it")
        assert (await driver.finish_run()).code == 0

    run_session(work, script(tmp_path, AGAIN), "drive.py:3", env=corpus())


@pytest.mark.parametrize("layer", rows.some(["pybind", "nanobind"], 1))
def test_a_step_enters_a_method_that_returns_a_string(tmp_path: Path, layer: str) -> None:
    text = f"import corpus_{layer} as c\ndog = c.Dog('rex')\ndog.bark(2)\nprint('over')\n"

    async def work(driver: Driver) -> None:
        await driver.stop()
        assert native_frame(await driver.step("step")).function == "corpus::Dog::bark"
        await driver.finish_run()

    run_session(work, script(tmp_path, text), "drive.py:3", env=corpus(layer))


# -- lines without code of their own ------------------------------------------------------------------


def line_of(text: str, file: str = "corpus.cpp") -> int:
    lines = (HERE / "sources" / file).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_line_that_only_calls_what_was_inlined_stops_where_that_begins(
    tmp_path: Path, rust_samples: Path
) -> None:
    """gdb goes on to the next line with code: here into the loop, and into a closure."""
    lines = [line_of(text, "corpus.rs") for text in ("count(Id::total)", "count(Id::try_it)")]

    async def work(driver: Driver) -> None:
        functions = ("corpus_rust::corpus::total", "corpus_rust::corpus::try_it")
        for _ in range(3):
            for line, function in zip(lines, functions, strict=True):
                frame = native_frame(await driver.stop())
                assert (frame.function, frame.line) == (function, line)
                await driver.session.resume()
        assert (await driver.exit()).code == 0
        assert [row.hit_count for row in driver.session.breakpoints.all()] == [3, 3]

    text = DRIVE.replace("corpus_capi", "corpus_rust")
    specs = [f"corpus.rs:{line}" for line in lines]
    run_session(work, script(tmp_path, text), *specs, env=corpus("rust", "O0"))


def test_a_line_of_a_function_that_moves_within_it_says_nothing_more(tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        row = driver.session.breakpoints.get(1)
        assert row.message is None and row.locations[0].line != line
        await driver.finish_run()

    line = line_of("char room[5000];")
    run_session(work, script(tmp_path, DRIVE), f"corpus.cpp:{line}", env=corpus(variant="O0"))


# -- indirect functions -----------------------------------------------------------------------------

STRINGS = """\
import ctypes
compare = ctypes.CDLL(None).strcasecmp
for _ in range(3):
    compare(b"abc", b"ABC")
"""
INDIRECT = "import indirect\nfor _ in range(3):\n    indirect.run()\n"


def test_an_indirect_function_of_the_c_library(tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        name = native_frame(await driver.stop()).function or ""
        assert "strcasecmp" in name
        await driver.resume()
        await driver.resume()
        row = driver.session.breakpoints.get(1)
        assert row.hit_count == 3 and len(row.locations) == 1 and row.message is None
        await driver.session.resume()
        await driver.exit()

    run_session(work, script(tmp_path, STRINGS), "strcasecmp")


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="target_clones and the processor's names are x86's"
)
@pytest.mark.parametrize(
    ("spec", "chosen"), [("picked", ("fast",)), ("sum_up", ("sum_up.avx2", "sum_up.default"))]
)
def test_what_a_resolver_has_yet_to_choose(tmp_path: Path, spec: str, chosen: tuple[str, ...]) -> None:
    """When the library is loaded, nothing has been chosen yet: it is pending, and says so, until the resolver runs."""

    async def work(driver: Driver) -> None:
        assert native_frame(await driver.stop()).function in chosen
        states = [(one.breakpoint.state, one.breakpoint.message) for one in driver.breakpoint_events()]
        pending = (BreakpointState.PENDING, f"the implementation of {spec} has not been chosen yet")
        assert pending in states and states[-1] == (BreakpointState.VERIFIED, None)
        await driver.resume()
        await driver.resume()
        assert driver.session.breakpoints.get(1).hit_count == 3
        await driver.session.resume()
        assert (await driver.exit()).code == 0

    run_session(work, script(tmp_path, INDIRECT), spec, env=corpus("indirect"))


# -- whose calls count ------------------------------------------------------------------------------

OWN_CALLS = """\
import os, threading
def called():
    os.getsid(0)
called()
thread = threading.Thread(target=called)
thread.start()
thread.join()
for _ in range(2):
    called()
"""


def test_no_call_of_the_debugger_is_a_hit(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def work(driver: Driver) -> None:
        for hits in (1, 2, 3, 4):
            stop = await driver.stop()
            assert 1 in stop.breakpoints and (3 in stop.breakpoints) == (hits >= 3)
            assert "drive.py:3" in await driver.names()
            assert [row.hit_count for row in driver.session.breakpoints.all()] == [hits] * 3
            await driver.session.resume()
        assert (await driver.exit()).code == 0
        assert driver.console == "called\n" * 4

    specs = ["getsid", 'getsid log "called"', "getsid hits 3"]
    run_session(work, script(tmp_path, OWN_CALLS), *specs)
