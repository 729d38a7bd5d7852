"""Steps over calls that throw end at the handler; steps go right through recursions and callbacks of both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Reason
from samples.walks.build import HERE, build
from tests.session.driver import Driver, name, run_session

THROWS = "import sample_throws\nsample_throws.run(1)\nprint('done')\n"
END = "import sample_throws\nsample_throws.terminate(1)\n"
CALLBACK = """\
import sample_pybind
def double(v):
    return sample_pybind.scale(v, 2.0)
c = sample_pybind.call_back(double, 10.0)
print(c)
"""
WALKS = HERE / "walks.py"


def line_of(text: str, source: str = "sample_throws.cpp", nth: int = 0) -> int:
    lines = (HERE / source).read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if text in line][nth]


def place(stop_frame: object) -> tuple[str, int | None]:
    assert isinstance(stop_frame, NativeFrame)
    return (stop_frame.function or "").rpartition("::")[2], stop_frame.line


def in_handler(frame: object, handler: str, nth: int = 0) -> bool:
    """On the line of the handler, or in it: the optimiser leaves out what has no effect."""
    line = line_of(handler, nth=nth)
    return isinstance(frame, NativeFrame) and frame.line in range(line, line + 3)


@pytest.fixture(params=[False, True], ids=["shared-runtime", "static-runtime"])
def static(request: pytest.FixtureRequest) -> bool:
    """Whether the C++ library is linked into the extension."""
    return bool(request.param)


def drive(tmp_path: Path, text: str, optimize: str, spec: str, work: object, static: bool = False) -> None:
    script = tmp_path / "throws.py"
    script.write_text(text)
    run_session(work, script, spec, env={"PYTHONPATH": str(build(optimize, static=static))})  # type: ignore[arg-type]


RUNTIME_ERROR = "catch (const std::runtime_error& error)"
STD_EXCEPTION = "catch (const std::exception& error)"
# What is done, the line where it begins (and which of its kind), the kind of step, the handler where it ends.
CASES = [
    ("next over a call that throws", "fail(code);", 0, "next", RUNTIME_ERROR),
    ("until over a call that throws", "fail(code);", 0, "until", RUNTIME_ERROR),
    ("finish of the function that throws", "throw std::runtime_error", 0, "finish", RUNTIME_ERROR),
    ("step out of the function that throws", "throw std::runtime_error", 0, "next", RUNTIME_ERROR),
    ("next over a throw that goes on", "            throw;", 0, "next", "catch (std::runtime_error error)"),
    ("finish through a recursion with destructors", "fail(1);", 0, "finish", STD_EXCEPTION),
    ("next through a recursion with destructors", "fail(1);", 0, "next", STD_EXCEPTION),
    ("next to a handler of everything", "fail(code);", 1, "next", "catch (...)"),
]


@pytest.mark.parametrize("linked", ["0", "2", "static"])
def test_a_step_over_a_throw_ends_at_its_handler(tmp_path: Path, linked: str) -> None:
    """Each case in a run of its own of the same functions: unoptimised, optimised, with the C++ library linked in."""
    cases = CASES[:1] if linked == "static" else CASES

    async def work(driver: Driver) -> None:
        await driver.stop()
        for what, text, nth, kind, handler in cases:
            (row,) = await driver.session.breakpoints.add(f"sample_throws.cpp:{line_of(text, nth=nth)}")
            stop = await driver.resume()
            assert stop.breakpoints == (row.id,), what
            await driver.session.breakpoints.remove(row.id)
            stop = await driver.step(kind)
            assert stop.reason is Reason.STEP, what
            assert in_handler(stop.frame, handler), (what, stop.frame)
            assert name((await driver.resume()).frame) == "throws.py:3", what

    text = (
        f"import sample_throws\nfor number in range({len(cases) + 1}):\n    sample_throws.run(number | 1)\n"
    )
    drive(tmp_path, text, linked.replace("static", "0"), "throws.py:3", work, linked == "static")


def test_next_passes_a_handler_in_a_function_that_it_calls(tmp_path: Path) -> None:
    """The exception is caught deeper: it is no business of the step."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("next")
        assert place(stop.frame) == ("caught_within", line_of("int seen = caught(code);") + 1)

    drive(tmp_path, THROWS, "0", f"sample_throws.cpp:{line_of('int seen = caught(code);')}", work)


def test_steps_out_of_a_callback_of_the_c_library_end_in_the_function_that_called_that(
    tmp_path: Path,
) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await forget_breakpoints(driver)
        stop = await driver.step("finish")
        assert place(stop.frame) in [("run", line_of("std::qsort")), ("run", line_of("std::qsort") + 1)]

    drive(tmp_path, THROWS, "0", f"sample_throws.cpp:{line_of('int difference')}", work)


def test_noexcept_ends_the_program_at_the_line_that_threw(tmp_path: Path, static: bool) -> None:
    """The signal of std::terminate: the first frame of the user is selected, not the C library's."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("next")
        assert stop.reason is Reason.SIGNAL
        assert place(stop.frame) == ("fail", line_of("throw std::runtime_error"))
        assert stop.number > 0
        assert (await driver.stack()).visible()[stop.number] == stop.frame

    drive(tmp_path, END, "0", f"sample_throws.cpp:{line_of('    fail(code);', nth=2)}", work, static)


def test_a_throw_selects_the_function_that_throws(tmp_path: Path, static: bool) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert place(stop.frame) == ("fail", line_of("throw std::runtime_error"))
        assert stop.number == 1

    drive(tmp_path, THROWS, "0", "throw", work, static)


# -- both languages -----------------------------------------------------------------------------------


def walk(plan: str, spec: str, work: object, static: bool = False) -> None:
    run_session(
        work,  # type: ignore[arg-type]
        WALKS,
        spec,
        env={"PYTHONPATH": str(build(static=static))},
        launch_options={"args": (plan,)},
    )


async def forget_breakpoints(driver: Driver) -> None:
    for row in driver.session.breakpoints.all():
        await driver.session.breakpoints.remove(row.id)


def walk_line(text: str, nth: int = 0) -> str:
    return f"sample_walks.cpp:{line_of(text, 'sample_walks.cpp', nth)}"


def test_next_after_a_python_step_into_cpp_stays_in_its_frame() -> None:
    """Python calls C++, that Python, that the same C++: the watch of the first line must not stop in the inner one."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        await forget_breakpoints(driver)
        stop = await driver.step("step")
        assert place(stop.frame)[0] == "block"
        depth = len(await driver.names())
        for _ in range(6):
            stop = await driver.step("next")
            assert place(stop.frame)[0] == "block" and len(await driver.names()) == depth

    walk("n(p(n(l)l)l))", "walks.py:22", work)


@pytest.mark.parametrize("kind", ["finish", "next", "step"])
def test_after_a_finish_into_a_python_callback_the_native_caller_is_next(
    tmp_path: Path, env: dict[str, str], kind: str
) -> None:
    """C++ calls Python, that C++: finish in the inner C++ ends on the Python line, and then its own caller comes."""
    script = tmp_path / "callback.py"
    script.write_text(CALLBACK)

    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("finish")
        assert name(stop.frame) == "callback.py:3"
        stop = await driver.step(kind)
        assert place(stop.frame)[0] == "call_back"

    run_session(work, script, "scale", env=env)


@pytest.mark.parametrize("kinds", [["next", "next"], ["finish", "next"], ["finish", "finish"]])
def test_an_exception_of_python_ends_at_its_handler_in_cpp(kinds: list[str], static: bool) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await forget_breakpoints(driver)
        for kind in kinds:
            stop = await driver.step(kind)
        assert place(stop.frame) == ("guarded", line_of("catch (const Fail", "sample_walks.cpp"))

    walk("n(g(p(t))l))", "walks.py:53", work, static)


def test_an_exception_of_cpp_that_becomes_pythons_ends_on_the_line_that_called() -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await forget_breakpoints(driver)
        assert name((await driver.step("next")).frame) == "walks.py:22"
        stop = await driver.step("next")
        while name(stop.frame) != "walks.py:36":  # debugpy shows the functions that the exception leaves
            stop = await driver.step("next")
            assert not isinstance(stop, Exited)

    walk("g(n(t)l))", walk_line("throw Fail"), work)


def test_step_over_a_line_of_library_code_ends_on_the_next_line() -> None:
    """The line calls pybind11 only: what that calls in turn is not the user's."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        await forget_breakpoints(driver)
        assert place((await driver.step("step")).frame) == (
            "threaded",
            line_of("std::thread(work)", "sample_walks.cpp"),
        )

    walk("n(wl))", walk_line("py::gil_scoped_release no_gil"), work)
