"""Steps within a language and across the boundary, on the sample extension: where each lands."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import Language, PythonFrame, Quality, Reason, State
from tests.session.driver import Driver, name, run_session

Env = dict[str, str]

ENTERED = [
    pytest.param(5, "(anonymous namespace)::add", id="pybind11 function"),
    pytest.param(6, "capi_outer", id="C API function"),
    pytest.param(7, "(anonymous namespace)::call_back", id="pybind11 function that calls back"),
    pytest.param(9, "sample::Vec2::operator+", id="operator"),
    pytest.param(13, "(anonymous namespace)::raise_error", id="function that raises"),
    *(
        pytest.param(line, function, id=what, marks=pytest.mark.exhaustive)
        for line, function, what in (
            (8, "pybind11_init_sample_pybind::{lambda#1}::operator()", "pybind11 constructor"),
            (10, "sample::Vec2::length", "property"),
            (11, "(anonymous namespace)::iterate", "iteration"),
        )
    ),
]


@pytest.mark.parametrize(("line", "function"), ENTERED)
def test_step_enters_the_users_own_native_code(crossing: Path, env: Env, line: int, function: str) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("step")
        assert stop.reason is Reason.STEP and stop.origin is Language.NATIVE
        assert name(stop.frame) == function
        stack = await driver.stack()
        assert stack.quality is Quality.FULL
        assert name(stack.visible()[-1]) == f"crossing.py:{line}"
        back = await driver.step("finish")
        assert name(back.frame) == f"crossing.py:{line}"
        await driver.finish_run()

    run_session(work, crossing, f"crossing.py:{line}", env=env)


@pytest.mark.smoke
def test_next_passes_over_native_code(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> list[str]:
        await driver.stop()
        lines = [name((await driver.step("next")).frame) for _ in range(6)]
        assert driver.session.state is State.PYTHON_STOPPED
        await driver.finish_run()
        return lines

    lines = run_session(work, crossing, "crossing.py:5", env=env)
    assert lines == [f"crossing.py:{number}" for number in (6, 7, 8, 9, 10, 11)]


def test_native_next_goes_line_by_line_and_leaves_to_the_python_line(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        lines = []
        while name(stop.frame) != "crossing.py:5":
            assert name(stop.frame) == "(anonymous namespace)::add"
            assert stop.frame is not None
            lines.append(stop.frame.line)
            stop = await driver.step("next")
        assert lines == sorted(lines) and len(lines) >= 2
        assert name((await driver.step("next")).frame) == "crossing.py:6"
        assert driver.session.state is State.PYTHON_STOPPED
        await driver.finish_run()

    run_session(work, crossing, "sample_pybind.cpp:17", env=env)


def test_step_goes_into_an_inner_function_and_finish_back_out(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        while name(stop.frame) == "capi_outer":
            stop = await driver.step("step")
        assert name(stop.frame) == "sample::outer"
        assert name((await driver.step("finish")).frame) == "capi_outer"
        assert name((await driver.step("finish")).frame) == "crossing.py:6"
        assert name((await driver.step("next")).frame) == "crossing.py:7"
        await driver.finish_run()

    run_session(work, crossing, "capi_outer", env=env)


def test_a_callback_is_entered_and_left_to_its_native_caller(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert name(stop.frame) == "(anonymous namespace)::call_back"
        for _ in range(12):
            stop = await driver.step("step")
            if isinstance(stop.frame, PythonFrame):
                break
        assert name(stop.frame) == "crossing.py:3"
        names = await driver.names()
        assert names == ["crossing.py:3", "(anonymous namespace)::call_back", "crossing.py:7"]
        stop = await driver.step("finish")
        assert stop.origin is Language.NATIVE
        assert name(stop.frame) == "(anonymous namespace)::call_back"
        assert name((await driver.step("finish")).frame) == "crossing.py:7"
        assert name((await driver.step("next")).frame) == "crossing.py:8"
        await driver.finish_run()

    run_session(work, crossing, "call_back", env=env)


def test_next_at_the_end_of_a_callback_stops_in_the_native_caller(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("next")
        assert name(stop.frame) == "(anonymous namespace)::call_back"
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:4", env=env)


def test_two_calls_in_one_line_are_entered_one_after_the_other(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        assert name((await driver.step("step")).frame) == "(anonymous namespace)::add"
        assert name((await driver.step("finish")).frame) == "crossing.py:16"
        assert name((await driver.step("step")).frame) == "capi_add"
        assert name((await driver.step("finish")).frame) == "crossing.py:16"
        assert name((await driver.step("next")).frame) == "crossing.py:17"
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:16", env=env)


def test_an_exception_on_the_way_ends_at_its_handler(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.step("step")
        assert name((await driver.step("finish")).frame) == "crossing.py:13"
        assert name((await driver.step("next")).frame) == "crossing.py:14"
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:13", env=env)


def test_a_breakpoint_on_the_way_stops_and_the_python_step_is_completed_later(
    crossing: Path, env: Env
) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("next")
        assert stop.reason is Reason.BREAKPOINT and name(stop.frame) == "capi_outer"
        stop = await driver.resume()
        assert stop.reason is Reason.STEP and name(stop.frame) == "crossing.py:7"
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:6", "capi_outer", env=env)


def test_what_the_program_computes_is_not_changed_by_stepping(
    crossing: Path, env: Env, capfd: pytest.CaptureFixture[str]
) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        while driver.session.state is not State.EXITED:
            await driver.session.step("step")
            await driver.next(*_ENDS)
            if driver.session.state is State.NATIVE_STOPPED:
                await driver.step("finish")

    run_session(work, crossing, "crossing.py:5", env=env)
    assert capfd.readouterr().out.split() == ["3.5", "4.833333333333334", "21.0", "2.23606797749979", "7.0"]


def _ends() -> tuple[type, ...]:
    from dualdbg.model import Exited, Stopped

    return Stopped, Exited


_ENDS = _ends()
