"""Python expressions at a native stop: where they are run, what they return, and where they are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.errors import EvaluationError
from dualdbg.model import PythonFrame, Reason
from dualdbg.session.inspect import inferior_evaluation
from dualdbg.session.inspect.inferior_evaluation import NotSound
from tests import support
from tests.session.driver import Driver, name, run_session

Env = dict[str, str]


async def value_of(driver: Driver, text: str, limit: float = 5.0) -> str:
    stop = driver.session.stop
    assert stop is not None
    return (await inferior_evaluation.evaluate(driver.session, text, stop.thread.tid, None, limit)).value


def test_an_expression_runs_in_the_python_frame_below_or_in_an_outer_one(crossing: Path, env: Env) -> None:
    """No breakpoint stops in it: gdb would wait for the end of its call for ever."""

    async def work(driver: Driver) -> None:
        assert name((await driver.stop()).frame) == "capi_outer"
        # To compile such a name the interpreter imports unicodedata, which only the debugger has imported.
        assert await value_of(driver, "(lambda \u03c0: \u03c0 + 1)(2)") == "3"
        assert await value_of(driver, "a + 1") == "4.5"
        assert await value_of(driver, "[n for n in range(3) if n]") == "[1, 2]"
        assert await value_of(driver, "marker = double(4)") == ""
        assert await value_of(driver, "marker") == "8"
        assert await value_of(driver, "for n in range(2): n") == "0\n1"
        for text, why in (
            ("7; 1 / 0", r"7\nZeroDivisionError"),
            ("1 / 0", "ZeroDivisionError: division by zero"),
            ("nothing_of_this_name", "NameError"),
            ("for", "SyntaxError"),
        ):
            with pytest.raises(EvaluationError, match=why):
                await value_of(driver, text)
        with pytest.raises(EvaluationError, match=r"ended after 0\.2 s"):
            await value_of(driver, "[0 for n in iter(int, 1)]", 0.2)
        assert await value_of(driver, "a") == "3.5"
        assert await driver.names() == ["capi_outer", "crossing.py:6"]
        assert name((await driver.step("next")).frame) == "capi_outer"

        assert name((await driver.resume()).frame) == "crossing.py:3"
        stop = await driver.step("finish")  # of the callback, into the native caller
        assert name(stop.frame) == "(anonymous namespace)::call_back"
        frames = [frame for frame in (await driver.stack()).visible() if isinstance(frame, PythonFrame)]
        value = await inferior_evaluation.evaluate(driver.session, "b", stop.thread.tid, frames[-1])
        assert value.type == "float" and value.value.startswith("4.83")
        assert (await driver.finish_run()).code == 0

    run_session(work, crossing, "capi_outer", "crossing.py:3", env=env)


def test_nothing_is_run_after_a_crash(env: Env) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.reason is Reason.SIGNAL
        with pytest.raises(NotSound, match="a signal stopped"):
            await value_of(driver, "1")

    run_session(work, support.SAMPLES / "crash.py", env=env)


def test_a_thread_without_the_gil_runs_nothing(tmp_path: Path, env: Env) -> None:
    script = tmp_path / "released.py"
    script.write_text(
        "import os, sample_pybind\nr, w = os.pipe()\nos.write(w, b'A')\nsample_pybind.wait_for_byte(r)\n"
    )

    async def work(driver: Driver) -> None:
        await driver.stop()
        with pytest.raises(NotSound, match="does not hold the GIL"):
            await value_of(driver, "r")
        assert (await driver.finish_run()).code == 0

    run_session(work, script, "read_byte", env=env)


def test_nothing_is_run_within_the_c_library(tmp_path: Path) -> None:
    """fork holds malloc's locks at times: what is run there, also for a breakpoint of Python, may wait for ever."""
    script = tmp_path / "forks.py"
    script.write_text("import os\npid = os.fork()\nif not pid:\n    os._exit(0)\nos.waitpid(pid, 0)\n")

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert await driver.session.inspector.attachment(stop.thread.tid)
        with pytest.raises(NotSound, match="inside the C library"):
            await value_of(driver, "1")
        await driver.session.breakpoints.add(f"{script}:4")
        assert (await driver.finish_run()).code == 0

    run_session(work, script, "fork")
