"""Arguments of Cython functions by the author's names, and what a closure keeps of them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Stopped
from tests import rows
from tests.session.driver import Driver, run_session
from tests.support import require

SOURCE = """\
def adder(n, step=2):
    n = n + step
    def inner(x, y=3):
        return x + n + y
    r = inner(1)
    return r

def shadowed(n):
    def inner(n):
        return n * 2
    def other():
        return n
    return inner(7) + other()

def numbers(k):
    for i in range(k):
        yield i

cdef class Box:
    cdef int fill(self, object o, int limit=5, int more=1) except -1:
        limit = limit + len(o)
        return limit + more
    def take(self, a, *args, b=1, **kw):
        return self.fill("ab", 3) + len(args) + len(kw)
"""
PROGRAM = """\
import closures
closures.adder(10)
closures.shadowed(1)
list(closures.numbers(1))
closures.Box().take(1, 2, 3, b=4, c=5)
"""
# At each line: the arguments with their values, in any order; what an optimiser may have dropped is left out there.
WANTED = {
    2: {"n": "10", "step": "2"},
    5: {"n": "12", "step": "2"},
    4: {"x": "1", "y": "3"},
    10: {"n": "7"},
    12: {},
    17: None,
    22: {"self": None, "o": "'ab'", "limit": "5", "more": "1"},
    24: {"self": None, "a": "1", "args": "(2, 3)", "b": "4", "kw": "{'c': 5}"},
}

NOT_THERE = {
    "<optimized out>",
    "<not known here: the compiler has moved this code of the line in front of others>",
}


@pytest.fixture(params=rows.some(["-O2", "-O0"], 1))
def script(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    require(importlib.util.find_spec("Cython"), "Cython is not installed")
    (tmp_path / "closures.pyx").write_text(SOURCE)
    (tmp_path / "program.py").write_text(PROGRAM)
    translate = [sys.executable, "-m", "cython", "-3", "--line-directives", "closures.pyx"]
    subprocess.run(translate, cwd=tmp_path, check=True)
    include, suffix = sysconfig.get_path("include"), sysconfig.get_config_var("EXT_SUFFIX")
    compiler = ["cc", request.param, "-g", "-fPIC", "-shared", f"-I{include}", "closures.c"]
    subprocess.run([*compiler, "-o", f"closures{suffix}"], cwd=tmp_path, check=True)
    return tmp_path / "program.py"


def test_arguments_have_their_values(script: Path) -> None:
    """Also those that an inner function uses: once it has begun the closure has them."""

    async def work(driver: Driver) -> dict[int, dict[str, str] | None]:
        found: dict[int, dict[str, str] | None] = {}
        while True:
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                return found
            frame, tid = event.stop.frame, event.stop.thread.tid
            assert isinstance(frame, NativeFrame) and frame.line is not None
            inspector = driver.session.inspector
            names = await inspector.values.argument_names(tid, frame)
            rows = {row.name: row.value for row in await inspector.variables(tid, frame)}
            found[frame.line] = None if names is None else {name: rows[name] for name in names}
            await driver.session.resume()

    found = run_session(work, script, *(f"closures.pyx:{line} temporary" for line in WANTED))
    assert found.keys() == WANTED.keys()
    for line, wanted in WANTED.items():
        there = found[line]
        if wanted is None or there is None:
            assert there is wanted
            continue
        assert there.keys() == wanted.keys(), line
        for name, value in wanted.items():
            shown = there[name]
            assert value is None or shown in NOT_THERE or shown.endswith(value), (line, name, shown)
    kept = found[5]
    assert kept is not None and kept["n"].endswith("12")
