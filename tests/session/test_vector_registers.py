"""What the debugger runs in a program leaves it its vector registers, on processors with AMX too."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.errors import CommandError
from dualdbg.session.inspect import inferior_evaluation
from dualdbg.target import whole_state
from tests import support
from tests.session.driver import Driver, run_session

PROGRAMS = Path(__file__).parent / "programs"
LINE = 1 + next(
    at
    for at, line in enumerate((PROGRAMS / "registers.c").read_text().splitlines())
    if "a native stop" in line
)
GDB = shutil.which("gdb")


@pytest.fixture
def program(tmp_path: Path) -> dict[str, object]:
    """For Launch: a script that has asked for AMX and fails when a vector register has changed."""
    support.require(whole_state.needed(), "a processor with AMX", outside=True)
    compiler = support.require(shutil.which("gcc") or shutil.which("cc"), "a C compiler")
    library = tmp_path / "registers.so"
    source = PROGRAMS / "registers.c"
    subprocess.run([compiler, "-g", "-O0", "-shared", "-fPIC", "-o", library, source], check=True)
    return {"args": (str(library),)}


def old_gdb() -> str:
    """A gdb that cannot write vector registers on such a processor by itself."""
    gdb = support.require(GDB, "gdb")
    first = subprocess.run([gdb, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    old = int(first.split()[-1].partition(".")[0]) < whole_state.FIXED
    support.require(old, f"a gdb before {whole_state.FIXED}", outside=True)
    return gdb


def test_python_that_is_evaluated_leaves_them(program: dict[str, object]) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        for _ in range(2):
            value = await inferior_evaluation.evaluate(
                driver.session, "sum([factor * n for n in range(9)])", stop.thread.tid, None
            )
            assert value.value == "54.0"
        assert (await driver.finish_run()).code == 0

    run_session(work, PROGRAMS / "registers.py", f"registers.c:{LINE}", launch_options=program)


async def line_after(driver: Driver, kind: str) -> int | None:
    frame = (await driver.step(kind)).frame
    assert frame is not None
    return frame.line


def test_steps_leave_them(program: dict[str, object]) -> None:
    """A native step and one of a Python line below native code: debugpy is told to stop behind both."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        assert [await line_after(driver, "next") for _ in range(2)] == [LINE + 1, LINE + 2]
        while await line_after(driver, "finish") is None:  # through libffi's functions
            pass
        assert await line_after(driver, "next") == 8
        assert (await driver.finish_run()).code == 0

    run_session(work, PROGRAMS / "registers.py", f"registers.c:{LINE}", launch_options=program)


def test_nothing_is_run_where_they_could_not_be_given_back(
    program: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a compiler, in gdb 12 and 13."""
    gdb = old_gdb()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        for _ in range(2):
            with pytest.raises(CommandError) as refused:
                await inferior_evaluation.evaluate(driver.session, "factor", stop.thread.tid, None)
            assert "nothing was called in the program" in str(refused.value)
            assert "there is no C compiler" in str(refused.value)
            assert "apt-get install gcc, or a gdb 14 or later" in str(refused.value)
        assert (await driver.finish_run()).code == 0

    run_session(work, PROGRAMS / "registers.py", f"registers.c:{LINE}", launch_options=program, gdb=gdb)
