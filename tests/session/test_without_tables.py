"""A library without call frame information: the stack ends there and says so, and gdb's guesses are not shown."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import NativeFrame, PythonFrame, Quality
from tests import support
from tests.session.driver import Driver, run_session

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="gdb guesses on x86-64")

SOURCE = """\
#include <unistd.h>
__attribute__((noinline)) long inner(long n) { volatile char room[40]; room[n] = 1; return getppid() + room[n]; }
long outer(long n) { return inner(n) + n; }
"""


def test_stack_ends_where_no_unwind_table_covers_the_code(tmp_path: Path) -> None:
    compiler = support.require(shutil.which("gcc"), "a C compiler")
    (tmp_path / "bare.c").write_text(SOURCE)
    without = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    command = [compiler, "-O2", "-fPIC", "-shared", *without, "-o", "libbare.so", "bare.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    script = tmp_path / "script.py"
    script.write_text(f"import ctypes\nctypes.CDLL({str(tmp_path / 'libbare.so')!r}).outer(3)\n")

    async def work(driver: Driver) -> None:
        await driver.stop()  # at the entry gdb's guess is right
        entry = await driver.stack()
        assert [one.function for one in entry.frames if isinstance(one, NativeFrame)][:2] == [
            "inner",
            "outer",
        ]
        await driver.resume()
        stack = await driver.stack()
        native = [one.function for one in stack.frames if isinstance(one, NativeFrame)]
        assert native[1:] == ["inner"] and "getppid" in (native[0] or "")
        assert [one for one in stack.frames if isinstance(one, PythonFrame)]
        assert stack.quality is Quality.PARTIAL and "no unwind table covers this code of libbare.so" in (
            stack.note or ""
        )
        await driver.finish_run()

    run_session(work, script, "inner", "getppid")
