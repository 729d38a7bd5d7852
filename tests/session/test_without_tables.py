"""A library without call frame information, as a C library may be: stacks, steps and threads as with it."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Quality, Stopped
from dualdbg.probes.placement import iced
from tests import support
from tests.session.driver import Driver, run_session
from tests.snapshot.programs_running import PROGRAMS

pytestmark = pytest.mark.skipif(
    iced is None or platform.machine() != "x86_64", reason="needs iced-x86, on x86-64"
)
WITH = ("-fasynchronous-unwind-tables",)
WITHOUT = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-s")
LOADS = """
import ctypes, sys, threading
library = ctypes.CDLL(sys.argv[1])
def work():
    library.all()
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
Place = tuple[str, int]


def built(folder: Path, *flags: str) -> tuple[Path, Path]:
    compiler = support.require(shutil.which("gcc"), "a C compiler")
    folder.mkdir()
    library, script = folder / "library.so", folder / "loads.py"
    source = PROGRAMS / "without_tables.c"
    subprocess.run([compiler, "-O2", "-fPIC", "-shared", *flags, "-o", library, source], check=True)
    script.write_text(LOADS)
    return library, script


def places(driver: Driver, frames: list[NativeFrame]) -> list[Place]:
    """Where frames are, by file and link-time address."""
    found = []
    for frame in frames:
        module = driver.session.breakpoints.image.module_at(frame.pc)
        assert module is not None, f"{frame.pc:#x} is no code"
        found.append((Path(module.path).name, frame.pc - module.bias))
    return found


async def all_stacks(driver: Driver) -> list[list[Place]]:
    """The native frames at each stop, and where a step out of the second one leads."""
    await driver.stop()
    seen: list[list[Place]] = []
    while True:
        stack = await driver.stack()
        assert stack.quality is Quality.FULL, (stack.note, [str(f) for f in stack.frames])
        frames = [frame for frame in stack.frames if isinstance(frame, NativeFrame)]
        seen.append(places(driver, frames))
        if len(seen) in (1, 8, 12):  # pushes, on_the_stack, aligned
            for _ in range(3):
                at = await driver.step("finish")
                assert isinstance(at.frame, NativeFrame)
                seen.append(places(driver, [at.frame]))
        await driver.session.resume()
        if isinstance(await driver.next(Stopped, Exited), Exited):
            return seen


def test_stacks_and_steps_are_those_of_a_twin_with_tables(tmp_path: Path) -> None:
    runs = []
    for name, flags in (("with", WITH), ("without", WITHOUT)):
        library, script = built(tmp_path / name, *flags)
        runs.append(run_session(all_stacks, script, "getppid", launch_options={"args": [str(library)]}))
    twin, other = runs
    assert len(twin) > 30
    assert other == twin
