"""``raise:TYPE``: the program's own types, suffixes, and one stop for one exception."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dualdbg.model import BreakpointState, Quality
from tests.session.driver import Driver, name, run_session

PROGRAM = """\
import json
class MyError(Exception):
    pass
class Outer:
    class Inner(ValueError):
        pass
def f(n):
    if n == 3:
        raise MyError("bad %d" % n)
    if n == 4:
        raise Outer.Inner("inner")
    if n >= 5:
        return json.loads("{")
    return n
def g(n):
    return f(n)
for i in range(7):
    try:
        g(i)
    except Exception:
        pass
"""


# Breakpoints of one run, and the lines of its stops with those that each of them meets.
NAMED = ["raise:MyError", "raise:Outer.Inner", "raise:ValueError if n == 5", "raise:ValueError thread 1"]
NAMED += ["raise:__main__.MyError", "raise:ValueError", "raise:os.NoSuchError", "raise:json.JSONDecodeError"]
RUNS = [
    (NAMED, [(9, (1, 5)), (11, (2, 6)), (13, (3, 6, 8)), (13, (6, 8))]),
    (["raise hits 3", 'raise log "100% of {n!r} {n:>3}"'], [(13, (1,)), (13, (1,))]),
]


@pytest.mark.parametrize(("specs", "stops"), RUNS, ids=["of a type", "of any"])
def test_where_an_exception_stops(
    tmp_path: Path, specs: list[str], stops: list[tuple[int, tuple[int, ...]]]
) -> None:
    path = tmp_path / "raising.py"
    path.write_text(PROGRAM)

    async def work(driver: Driver) -> str:
        for expected in stops:
            stop = await driver.stop()
            assert (stop.frame and stop.frame.line, stop.breakpoints) == expected
            await driver.session.resume()
        assert (await driver.exit()).code == 0
        assert {row.state for row in driver.session.breakpoints.all()} == {BreakpointState.VERIFIED}
        return driver.console

    console = run_session(work, path, *specs)
    logged = "".join(f"100% of {n} {n:>3}\n" for n in (3, 4, 5, 6))
    assert console.endswith(logged if "log" in specs[-1] else "")


def test_a_step_goes_on_when_an_exception_that_was_not_asked_for_comes(tmp_path: Path) -> None:
    path = tmp_path / "raising.py"
    path.write_text(PROGRAM.replace("range(7)", "range(3, 7)"))

    async def work(driver: Driver) -> None:
        await driver.stop()
        lines = [frame.line for frame in [(await driver.step("next")).frame for _ in range(3)] if frame]
        assert lines == [20, 21, 17], lines  # over g, which raises MyError
        await driver.finish_run()

    run_session(work, path, "raising.py:19", "raise:KeyboardInterrupted")


def test_an_exception_is_raised_and_ends_the_program(tmp_path: Path) -> None:
    """Two breakpoints, a stop each: where it is raised, and where nobody has caught it; there its frames are shown."""
    path = tmp_path / "raising.py"
    path.write_text("def inner(k):\n    return {}[k]\ndef outer():\n    inner(7)\nouter()\n")

    async def work(driver: Driver) -> None:
        assert (await driver.stop()).breakpoints == (1,)
        stop = await driver.resume()
        assert stop.breakpoints == (2,)
        stack = await driver.stack()
        assert stack.quality is Quality.PYTHON_ONLY
        assert [name(frame) for frame in stack.visible()] == [f"raising.py:{line}" for line in (2, 4, 5)]
        variables = await driver.session.inspector.variables(stop.thread.tid, stack.visible()[0])
        assert ("k", "7") in [(one.name, one.value) for one in variables]
        await driver.session.kill()

    run_session(work, path, "raise", "uncaught")


def test_a_symbol_that_a_library_lacks_is_told_by_its_name(tmp_path: Path) -> None:
    sources = {
        "older": "namespace shapes { double area(double side) { return side * side; } }",
        "needs": "namespace shapes { double area(int, int); }\ndouble twice() { return shapes::area(1, 2) * 2; }",
    }
    for library, source in sources.items():
        command = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(tmp_path / f"lib{library}.so")]
        subprocess.run(command, input=source, text=True, check=True)
    script = tmp_path / "loads.py"
    lines = [f"ctypes.CDLL({str(tmp_path / f'lib{one}.so')!r}, os.RTLD_NOW)" for one in sources]
    script.write_text("\n".join(["import ctypes, os", *lines]))

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert name(stop.frame) == "loads.py:3"
        words = "the symbol is shapes::area(int, int): libolder.so has shapes::area(double)"
        assert "_ZN6shapes4areaEii" in (stop.description or "") and words in (stop.description or ""), stop

    run_session(work, script, "raise:OSError")
