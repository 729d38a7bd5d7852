"""A frame is named by the call that it makes, which may be the last instruction of its function."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import NativeFrame
from tests import support
from tests.session.driver import Driver, run_session

# Functions follow each other without a gap. A call of abort() is the last instruction of its function, and the read the
# first one of its.
SOURCE = """\
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
volatile int seen;
static inline __attribute__((always_inline)) void gives_up(int x) {
    seen = x;
    abort();
}
__attribute__((noinline)) void loses(int x) {
    seen = x + 1;
    gives_up(x);
}
__attribute__((noinline)) int before(int x) { return x + 1; }
__attribute__((noinline)) int reads(volatile int *p) { return *p; }
static void handler(int number) { _exit(number == SIGSEGV ? 7 : 8); }
__attribute__((noinline)) int faults(int x) {
    signal(SIGSEGV, handler);
    return reads((volatile int *)(long)x) + before(x);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = support.require(shutil.which("gcc"), "a C compiler")
    folder = tmp_path_factory.mktemp("ends")
    (folder / "ends.c").write_text(SOURCE)
    close = ["-falign-functions=1", "-fno-reorder-functions", "-fno-toplevel-reorder", "-fomit-frame-pointer"]
    made = folder / "libends.so"
    command = [compiler, "-g", "-O2", "-shared", "-fPIC", *close, "-o", made, folder / "ends.c"]
    subprocess.run(command, check=True)
    return made


def script(library: Path, call: str) -> Path:
    path = library.parent / "program.py"
    path.write_text(f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\nlibrary.{call}(0)\n")
    return path


async def functions(driver: Driver) -> list[str | None]:
    frames = (await driver.stack()).frames
    own = [frame for frame in frames if isinstance(frame, NativeFrame) and frame.file is not None]
    return [frame.function for frame in own if frame.file.endswith("ends.c")]


def test_around_an_inlined_function_that_never_returns(library: Path) -> None:
    """The function around it stands at the same return address, which lies behind both."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        assert await functions(driver) == ["gives_up", "loses"]
        await driver.session.resume()
        await driver.exit()

    run_session(work, script(library, "loses"))


def test_what_a_signal_interrupted_at_its_first_instruction(library: Path) -> None:
    """No call was made there."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        assert await functions(driver) == ["reads", "faults"]
        await driver.resume()
        assert await functions(driver) == ["handler", "reads", "faults"]
        await driver.session.resume()
        assert (await driver.exit()).code == 7

    run_session(work, script(library, "faults"), "handler")
