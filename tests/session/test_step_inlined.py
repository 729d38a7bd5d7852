"""``finish`` out of functions that the compiler has put into their callers: they have no call that could return."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import support
from tests.session.driver import Driver, name, run_session

SOURCE = """\
volatile int seen;
#define INLINE static inline __attribute__((always_inline))
INLINE int innermost(int x) {
    seen = x;
    seen = seen + 1;
    return seen;
}
INLINE int inner(int x) {
    seen = 0;
    int y = innermost(x);
    seen = y;
    return seen + 1;
}
extern "C" __attribute__((noinline)) int outer(int x) {
    int y = inner(x);
    seen = y;
    return y;
}
extern "C" __attribute__((noinline)) int calls(int x) {
    int y = outer(x);
    seen = y;
    return y;
}
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = support.require(shutil.which("g++"), "a C++ compiler")
    folder = tmp_path_factory.mktemp("inlined")
    source, library, script = folder / "inlined.cpp", folder / "libinlined.so", folder / "program.py"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-g", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    script.write_text(
        f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\nlibrary.calls(1)\nlibrary.calls(2)\n"
    )
    return script


def test_finish_ends_in_the_function_around(script: Path) -> None:
    async def work(driver: Driver) -> None:
        assert name((await driver.stop()).frame) == "innermost"
        found = [name((await driver.step("finish")).frame) for _ in range(4)]
        assert found == ["inner", "outer", "calls", "program.py:3"]
        await driver.finish_run()

    run_session(work, script, "inlined.cpp:5")


def test_another_stop_on_the_way_is_shown(script: Path) -> None:
    async def work(driver: Driver) -> None:
        assert name((await driver.stop()).frame) == "inner"
        assert name((await driver.step("finish")).frame) == "innermost"  # the breakpoint
        assert name((await driver.step("finish")).frame) == "inner"
        assert name((await driver.step("finish")).frame) == "outer"
        await driver.finish_run()

    run_session(work, script, "inlined.cpp:9", "inlined.cpp:5")
