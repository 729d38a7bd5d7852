"""A library without call frame information, as a C library may be: stacks, steps and threads as with it."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, PythonFrame, Quality, Stopped
from dualdbg.probes.placement import iced
from dualdbg.shared.libraries import is_c_library
from tests import support
from tests.session.driver import Driver, run_session
from tests.snapshot.programs_running import PROGRAMS, musl_python

pytestmark = pytest.mark.skipif(
    iced is None or platform.machine() != "x86_64", reason="needs iced-x86, on x86-64"
)
WITH = ("-fasynchronous-unwind-tables",)
WITHOUT = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-s")
LOADS = """
import ctypes, sys, threading
from _ctypes import dlclose
def work(library):
    library.all()
for path in sys.argv[1:]:
    library = ctypes.CDLL(path)
    thread = threading.Thread(target=work, args=(library,))
    thread.start()
    thread.join()
    dlclose(library._handle)
"""
ASLEEP = """
import queue, threading, time
def sleeps(): time.sleep(1000)
def waits(): threading.Event().wait()
def waits_long(): queue.Queue().get(timeout=900)
for one in (sleeps, waits, waits_long): threading.Thread(target=one, daemon=True).start()
def sleeps_now(one): return open(f"/proc/self/task/{one.native_id}/stat").read().rpartition(") ")[2][0] == "S"
while not all(map(sleeps_now, threading.enumerate()[1:])): time.sleep(0.01)
print("here")
"""
Place = tuple[str, int]


def built(library: Path, *flags: str) -> Path:
    compiler = support.require(shutil.which("gcc"), "a C compiler")
    source = PROGRAMS / "without_tables.c"
    subprocess.run([compiler, "-fPIC", "-shared", *flags, "-o", library, source], check=True)
    return library


def places(driver: Driver, frames: list[NativeFrame]) -> list[Place]:
    """Where frames are, by file and link-time address."""
    found = []
    for frame in frames:
        module = driver.session.breakpoints.image.module_at(frame.pc)
        assert module is not None, f"{frame.pc:#x} is no code"
        found.append((Path(module.path).name, frame.pc - module.bias))
    return found


async def all_stacks(driver: Driver) -> list[list[Place]]:
    """The native frames at each stop, and where steps out of some of them lead."""
    await driver.stop()
    seen: list[list[Place]] = []
    while True:
        stack = await driver.stack()
        assert (stack.quality, stack.note) == (Quality.FULL, None)
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


def test_stacks_and_steps_are_those_of_twins_with_tables(tmp_path: Path) -> None:
    """Two libraries, of which the second one comes where the first one was."""
    script = tmp_path / "loads.py"
    script.write_text(LOADS)
    runs = []
    for name, flags in (("with", WITH), ("without", WITHOUT)):
        folder = tmp_path / name
        folder.mkdir()
        paths = [str(built(folder / f"{level}.so", f"-{level}", *flags)) for level in ("O2", "Os")]
        runs.append(run_session(all_stacks, script, "getppid", launch_options={"args": paths}))
    twin, other = runs
    assert len(twin) > 60
    assert {file for frames in twin for file, _ in frames} >= {"O2.so", "Os.so"}
    assert other == twin


def test_a_python_with_musl(tmp_path: Path) -> None:
    """Its threads that wait in the C library have whole stacks at a Python stop, and the one that stopped has."""
    script = tmp_path / "asleep.py"
    script.write_text(ASLEEP)

    async def work(driver: Driver) -> None:
        await driver.stop()
        for thread in await driver.session.inspector.threads():
            stack = await driver.session.inspector.stack(thread.tid)
            assert (stack.quality, stack.note) == (Quality.FULL, None)
            (last,) = [frame for frame in stack.frames if isinstance(frame, NativeFrame)][-1:]
            assert is_c_library(last.library or "")
            assert [one for one in stack.frames if isinstance(one, PythonFrame)]
        await driver.finish_run()

    run_session(work, script, "asleep.py:9", launch_options={"python": str(musl_python())})
