"""Steps over calls that throw end at the handler; steps go right through recursions and callbacks of both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Reason
from samples.walks.build import HERE, build
from tests.session.driver import Driver, name, run_session

CALLBACK = """\
import sample_pybind
def double(v):
    return sample_pybind.scale(v, 2.0)
for _ in range(3):
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


def test_stops_and_steps_around_throws_select_the_functions_of_the_user(tmp_path: Path, static: bool) -> None:
    fails = f"sample_throws.cpp:{line_of('    fail(code);', nth=2)}"
    within = line_of("int seen = caught(code);")
    text = "import sample_throws\nsample_throws.run(1)\nsample_throws.terminate(1)\n"

    async def work(driver: Driver) -> None:
        breakpoints = driver.session.breakpoints
        await driver.stop()  # in a callback of the C library: steps end in the function that called that
        await breakpoints.remove(1)
        for spec in ("throw", f"sample_throws.cpp:{within}", fails):
            await breakpoints.add(spec)
        stop = await driver.step("finish")
        assert place(stop.frame) in [("run", line_of("std::qsort")), ("run", line_of("std::qsort") + 1)]

        stop = await driver.resume()
        assert place(stop.frame) == ("fail", line_of("throw std::runtime_error"))
        assert stop.number == 1
        await breakpoints.remove(2)

        assert place((await driver.resume()).frame) == ("caught_within", within)
        stop = await driver.step("next")  # the exception is caught deeper: it is no business of the step
        assert place(stop.frame) == ("caught_within", within + 1)

        assert place((await driver.resume()).frame)[0] == "end"
        stop = await driver.step("next")  # std::terminate: not in a frame of the C library
        assert stop.reason is Reason.SIGNAL
        assert place(stop.frame) == ("fail", line_of("throw std::runtime_error"))
        assert stop.number > 0
        assert (await driver.stack()).visible()[stop.number] == stop.frame

    drive(tmp_path, text, "0", f"sample_throws.cpp:{line_of('int difference')}", work, static)


# -- both languages -----------------------------------------------------------------------------------


def walk(plan: str, spec: str, work: object, static: bool = False) -> None:
    run_session(
        work,  # type: ignore[arg-type]
        WALKS,
        spec,
        env={"PYTHONPATH": str(build(static=static))},
        launch_options={"args": (plan,)},
    )


def walk_line(text: str, nth: int = 0) -> str:
    return f"sample_walks.cpp:{line_of(text, 'sample_walks.cpp', nth)}"


def test_steps_across_the_languages_end_in_their_frames_and_on_lines_of_the_user() -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.breakpoints.remove(1)
        for text in ("throw Fail", "py::gil_scoped_release no_gil"):
            await driver.session.breakpoints.add(walk_line(text))

        # Python calls C++, that Python, that the same C++: the watch of the first line does not stop in the inner one.
        stop = await driver.step("step")
        assert place(stop.frame)[0] == "block"
        depth = len(await driver.names())
        for _ in range(6):
            stop = await driver.step("next")
            assert place(stop.frame)[0] == "block" and len(await driver.names()) == depth

        # An exception of C++ that becomes Python's ends on the line that called.
        await driver.resume()
        assert name((await driver.step("next")).frame) == "walks.py:22"
        stop = await driver.step("next")
        while name(stop.frame) != "walks.py:36":  # debugpy shows the functions that the exception leaves
            stop = await driver.step("next")
            assert not isinstance(stop, Exited)

        # The line calls pybind11 only: what that calls in turn is not the user's.
        await driver.resume()
        threaded = ("threaded", line_of("std::thread(work)", "sample_walks.cpp"))
        assert place((await driver.step("step")).frame) == threaded

    walk("n(p(n(l)l)l)g(n(t)l)n(wl))", "walks.py:22", work)


def test_after_a_finish_into_a_python_callback_the_native_caller_is_next(
    tmp_path: Path, env: dict[str, str]
) -> None:
    """C++ calls Python, that C++: finish in the inner C++ ends on the Python line, and then its own caller comes."""
    script = tmp_path / "callback.py"
    script.write_text(CALLBACK)

    async def work(driver: Driver) -> None:
        for kind in ("finish", "next", "step"):
            await driver.stop()
            assert name((await driver.step("finish")).frame) == "callback.py:3"
            stop = await driver.step(kind)
            assert place(stop.frame)[0] == "call_back", kind
            await driver.session.resume()
        await driver.exit()

    run_session(work, script, "scale", env=env)


def test_an_exception_of_python_ends_at_its_handler_in_cpp(static: bool) -> None:
    async def work(driver: Driver) -> None:
        for kinds in ("next next", "finish next", "finish finish"):
            await driver.stop()
            for kind in kinds.split():
                stop = await driver.step(kind)
            assert place(stop.frame) == ("guarded", line_of("catch (const Fail", "sample_walks.cpp")), kinds
            await driver.session.resume()
        await driver.exit()

    walk("n(g(p(t))g(p(t))g(p(t))l))", "walks.py:53", work, static)
