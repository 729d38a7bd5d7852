"""Lines of a small optimised module in Cython: what Cython adds has lines too, and none of those is the author's."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
from collections import defaultdict
from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Stopped
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


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The program, beside the module, of which Cython and the compiler name the source without its folder."""
    require(importlib.util.find_spec("Cython"), "Cython is not installed")
    (tmp_path / "fastc.pyx").write_text(SOURCE)
    (tmp_path / "program.py").write_text(PROGRAM)
    subprocess.run(
        [sys.executable, "-m", "cython", "-3", "--line-directives", "fastc.pyx"], cwd=tmp_path, check=True
    )
    compiler = ["cc", "-O2", "-g", "-fPIC", "-shared", f"-I{sysconfig.get_path('include')}", "fastc.c"]
    target = f"fastc{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run([*compiler, "-o", target], cwd=tmp_path, check=True)
    return tmp_path / "program.py"


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
