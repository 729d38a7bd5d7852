"""Lines of a small optimised module in Cython: what Cython adds has lines too, and none of those is the author's."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
from collections import defaultdict
from pathlib import Path

import pytest

from dualdbg.model import BreakpointState, Exited, NativeFrame, Stopped
from tests.session.driver import Driver, run_session
from tests.support import require

SOURCE = """\
def poly_sum(xs, f):
    cdef double total = 0.0
    cdef double x
    for x in xs:
        total += x * x
    total = total + 1.0
    r = f(total)
    return r
"""
PROGRAM = """\
import fastc
print(fastc.poly_sum([1.0, 2.0, 3.0], abs))
"""


def built(folder: Path, source: str, program: str, *options: str) -> Path:
    """The program, beside the module, of which Cython and the compiler name the source without its folder."""
    require(importlib.util.find_spec("Cython"), "Cython is not installed")
    (folder / "fastc.pyx").write_text(source)
    (folder / "program.py").write_text(program)
    subprocess.run(
        [sys.executable, "-m", "cython", "-3", "--line-directives", "fastc.pyx"], cwd=folder, check=True
    )
    compiler = ["cc", *options, "-g", "-fPIC", "-shared", f"-I{sysconfig.get_path('include')}", "fastc.c"]
    target = f"fastc{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run([*compiler, "-o", target], cwd=folder, check=True)
    return folder / "program.py"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return built(tmp_path, SOURCE, PROGRAM, "-O2")


def test_what_cython_adds_is_no_line_of_the_source(script: Path) -> None:
    """In such a small module its lines count on from the first ones of the source, to the end of it and beyond."""

    async def work(driver: Driver) -> dict[int, set[tuple[str, int | None]]]:
        places = defaultdict(set)
        while True:
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                return places
            frame = (await driver.stack()).visible()[0]
            assert isinstance(frame, NativeFrame)
            for number in event.stop.breakpoints:
                places[number].add((frame.function, frame.line))
            await driver.session.resume()

    lines = range(1, len(SOURCE.splitlines()) + 1)
    found = run_session(work, script, *(f"fastc.pyx:{line}" for line in lines))
    assert {function for each in found.values() for function, _ in each} == {"fastc.poly_sum"}
    body = {number: {line for _, line in each} for number, each in found.items() if number > 3}
    assert body.keys() >= {4, 5, 7}  # of the others optimised code may have nothing left
    # From 3.12 on Py_INCREF is always inlined: code of it has the line before, and is shown at the line that calls it.
    most = 1 if sys.version_info >= (3, 12) else 0
    assert all(abs(line - number) <= most for number, shown in body.items() for line in shown)


GONE = """\
def picked(int n, f):
    cdef int i, kept = 0
    for i in range(n):
        if i == 1:
            kept = i + 5
        else:
            f(i)
    f(n)
"""
GONE_PROGRAM = """\
import fastc
fastc.picked(4, abs)
print("over")
"""


def test_a_statement_without_code_is_not_told_to_stop_elsewhere(tmp_path: Path) -> None:
    """gdb goes on to the next line with code, which another way through the function may lead to."""
    script = built(tmp_path, GONE, GONE_PROGRAM, "-O2", "-gno-statement-frontiers")

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.resume()
        await driver.stop()
        gone = driver.session.breakpoints.get(1)
        assert gone.state is not BreakpointState.VERIFIED
        assert gone.message is not None and gone.message.startswith("fastc.pyx:5 has no code of its own: ")
        await driver.finish_run()

    run_session(work, script, 'fastc.pyx:5 log "x"', "program.py:2", "program.py:3")
