"""Steps through functions of the C++ library that call the user's, where the optimiser has mixed the two."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import NativeFrame
from tests import support
from tests.session.driver import Driver, run_session

SOURCE = """\
#include <algorithm>
#include <functional>
#include <mutex>
#include <vector>
static volatile int seen;

extern "C" int sorts(int n) {
    std::vector<int> v{4, 2, n, 1, 3};
    std::sort(v.begin(), v.end(), [](int a, int b) {
        seen = a;
        return a < b;
    });
    seen = v[0];
    return seen;
}

extern "C" int calls(int n) {
    std::function<int(int)> adds = [n](int x) {
        seen = x;
        return x + n;
    };
    std::vector<int> v{1, 2};
    std::transform(v.begin(), v.end(), v.begin(), adds);
    seen = v[1];
    return seen;
}

extern "C" int once(int n) {
    std::once_flag flag;
    std::call_once(flag, [&] {
        seen = n;
        seen = n + 1;
    });
    seen = n;
    return seen;
}
"""
LINES = SOURCE.splitlines()


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = support.require(shutil.which("g++"), "a C++ compiler")
    folder = tmp_path_factory.mktemp("lambdas")
    source, library, script = folder / "lambdas.cpp", folder / "liblambdas.so", folder / "program.py"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-g", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    calls = "    library.sorts(7)\n    library.calls(7)\n    library.once(7)\n"
    loop = f"for _ in range(30):\n{calls}print('end')\n"
    script.write_text(f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\n{loop}")
    return script


def line_with(text: str) -> int:
    return next(number for number, line in enumerate(LINES, 1) if text in line)


async def walk(driver: Driver, spec: str, kind: str) -> list[int]:
    """The lines that steps end on, from the next stop at ``spec`` to the Python line; all are the source's own."""
    found: list[int] = []
    (row,) = await driver.session.breakpoints.add(spec)
    stop = await driver.resume()
    await driver.session.breakpoints.remove(row.id)
    while isinstance(stop.frame, NativeFrame):
        assert stop.frame.file is not None and stop.frame.file.endswith("lambdas.cpp"), (found, stop.frame)
        assert stop.frame.line is not None and len(found) < 100
        found.append(stop.frame.line)
        stop = await driver.step(kind)
    return found


# A function, lines of the lambda that it calls, and one behind that.
ENTERED = [
    ("sorts", ("seen = a;", "return a < b"), "seen = v[0]"),
    ("calls", ("seen = x;", "return x + n"), "seen = v[1]"),
    ("once", ("seen = n + 1",), "return seen"),
]
INSIDE = ["seen = a;", "return x + n", "seen = n + 1"]


def test_a_lambda_is_entered_and_left_to_the_users_function(script: Path) -> None:
    """Not to the line of the C++ library that called it."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.breakpoints.remove(1)
        for function, inside, behind in ENTERED:
            found = await walk(driver, function, "step")
            # Debug info may have the code of its last line in what it was inlined into (GCC 16).
            lines = [LINES[number - 1] for number in found]
            entered = [at for at, line in enumerate(lines) if any(text in line for text in inside)]
            assert entered, (function, lines)
            assert any(behind in line for line in lines[max(entered) :]), (function, lines)
        for kind in ("next", "finish"):
            for text in INSIDE:
                assert len(await walk(driver, f"lambdas.cpp:{line_with(text)}", kind)) > 1, (kind, text)
        assert (await driver.finish_run()).code == 0

    run_session(work, script, "program.py:4")
