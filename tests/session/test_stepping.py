"""Steps within a language and across the boundary, on the sample extension: where each lands."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import Exited, Language, PythonFrame, Quality, Reason, State, Stopped
from tests.session.driver import Driver, name, run_session

Env = dict[str, str]

ENTERED = {
    5: "(anonymous namespace)::add",
    6: "capi_outer",
    7: "(anonymous namespace)::call_back",
    8: "pybind11_init_sample_pybind::{lambda#1}::operator()",  # a constructor
    9: "sample::Vec2::operator+",
    10: "sample::Vec2::length",  # a property
    11: "(anonymous namespace)::iterate",
    13: "(anonymous namespace)::raise_error",
}


def test_step_enters_the_users_own_native_code_and_finish_leaves_it(crossing: Path, env: Env) -> None:
    """Where it raises, the next step ends at the handler; two calls in one line are entered one after the other."""

    async def work(driver: Driver) -> None:
        async def enters(line: int, function: str) -> None:
            stop = await driver.step("step")
            assert stop.reason is Reason.STEP and stop.origin is Language.NATIVE
            assert name(stop.frame) == function
            stack = await driver.stack()
            assert stack.quality is Quality.FULL
            assert name(stack.visible()[-1]) == f"crossing.py:{line}"
            assert name((await driver.step("finish")).frame) == f"crossing.py:{line}"

        assert name((await driver.stop()).frame) == "crossing.py:5"
        for line, function in ENTERED.items():
            if line != 5:
                assert name((await driver.resume()).frame) == f"crossing.py:{line}"
            await enters(line, function)
        assert name((await driver.step("next")).frame) == "crossing.py:14"
        await driver.resume()
        await enters(16, "(anonymous namespace)::add")
        await enters(16, "capi_add")
        assert name((await driver.step("next")).frame) == "crossing.py:17"
        await driver.finish_run()

    run_session(work, crossing, *(f"crossing.py:{line}" for line in (*ENTERED, 16)), env=env)


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


def test_native_steps_go_line_by_line_into_functions_and_callbacks_and_out_again(
    crossing: Path, env: Env
) -> None:
    async def work(driver: Driver) -> None:
        add, outer, call_back, _ = (breakpoint.id for breakpoint in driver.session.breakpoints.all())
        stop = await driver.stop()
        assert stop.breakpoints == (add,)
        lines = []
        while name(stop.frame) != "crossing.py:5":
            assert name(stop.frame) == "(anonymous namespace)::add"
            assert stop.frame is not None
            lines.append(stop.frame.line)
            stop = await driver.step("next")
        assert lines == sorted(lines) and len(lines) >= 2
        assert name((await driver.step("next")).frame) == "crossing.py:6"
        assert driver.session.state is State.PYTHON_STOPPED

        stop = await driver.step("next")
        assert stop.reason is Reason.BREAKPOINT and stop.breakpoints == (outer,)
        while name(stop.frame) == "capi_outer":
            stop = await driver.step("step")
        assert name(stop.frame) == "sample::outer"
        assert name((await driver.step("finish")).frame) == "capi_outer"
        assert name((await driver.step("finish")).frame) == "crossing.py:6"
        assert name((await driver.step("next")).frame) == "crossing.py:7"

        stop = await driver.resume()
        assert stop.breakpoints == (call_back,)
        for _ in range(12):
            stop = await driver.step("step")
            if isinstance(stop.frame, PythonFrame):
                break
        names = await driver.names()
        assert names == ["crossing.py:3", "(anonymous namespace)::call_back", "crossing.py:7"]
        stop = await driver.step("finish")
        assert stop.origin is Language.NATIVE
        assert name(stop.frame) == "(anonymous namespace)::call_back"
        assert name((await driver.step("finish")).frame) == "crossing.py:7"
        assert name((await driver.step("next")).frame) == "crossing.py:8"

        # A breakpoint on the way stops, and the step of Python is completed later.
        assert name((await driver.resume()).frame) == "crossing.py:16"
        stop = await driver.step("next")
        assert stop.reason is Reason.BREAKPOINT and stop.breakpoints == (add,)
        stop = await driver.resume()
        assert stop.reason is Reason.STEP and name(stop.frame) == "crossing.py:17"
        await driver.finish_run()

    places = ["sample_pybind.cpp:17", "capi_outer", "call_back", "crossing.py:16"]
    run_session(work, crossing, *places, env=env)


def test_next_at_the_end_of_a_callback_stops_in_the_native_caller(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("next")
        assert name(stop.frame) == "(anonymous namespace)::call_back"
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:4", env=env)


def test_what_the_program_computes_is_not_changed_by_stepping(
    crossing: Path, env: Env, capfd: pytest.CaptureFixture[str]
) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        while driver.session.state is not State.EXITED:
            await driver.session.step("step")
            await driver.next(Stopped, Exited)
            if driver.session.state is State.NATIVE_STOPPED:
                await driver.step("finish")

    run_session(work, crossing, "crossing.py:5", env=env)
    assert capfd.readouterr().out.split() == ["3.5", "4.833333333333334", "21.0", "2.23606797749979", "7.0"]
