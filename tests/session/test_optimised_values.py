"""Variables that the compiler has optimised away are listed as such, and the others have their values."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from dualdbg.model import Language
from tests import support
from tests.session.driver import Driver, run_session

SOURCE = """\
#include <string>
#include <vector>
volatile int sink;
struct Pair { std::string text; std::vector<int> row; };
extern "C" __attribute__((noinline)) int optimised(int number) {
    std::vector<int> unused;
    const std::vector<int> &refers = unused;
    Pair pair{"text", {1, 2}};
    int twice = 2 * number;
    sink = number;
    return sink + twice + refers.size();
}
"""


def test_what_is_optimised_out_is_a_row_of_its_own(tmp_path: Path) -> None:
    compiler = support.require(shutil.which("g++"), "a C++ compiler")
    source, library, script = tmp_path / "o.cpp", tmp_path / "libo.so", tmp_path / "program.py"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-g", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    script.write_text(f"import ctypes\nctypes.CDLL({str(library)!r}).optimised(21)\n")

    async def work(driver: Driver) -> dict[str, str]:
        stop = await driver.stop()
        frame = (await driver.stack()).visible()[0]
        rows = await driver.session.inspector.variables(stop.thread.tid, frame)
        for name in ("unused", "refers", "pair"):  # as the prompt's print
            assert await driver.session.inspector.evaluate(name, stop.thread.tid, frame, Language.NATIVE)
        return {row.name: row.value for row in rows}

    found = run_session(work, script, "optimised")
    assert set(found) == {"number", "unused", "refers", "pair", "twice"}
    assert found["number"] == "21"
    gone = [name for name in ("unused", "refers") if "optimized out" in found[name]]
    assert gone, found  # GCC 16 says where the unused vector would lie
