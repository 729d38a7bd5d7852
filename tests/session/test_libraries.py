"""Libraries that come and go, that have the name of another, that are stripped, or replaced while they run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Stopped
from tests.session.driver import Driver, name, run_session

SOURCE = """\
extern "C" __attribute__((noinline)) int twice(int x) {
    int result = x * FACTOR;
    return result;
}
extern "C" int enter(int x) { return twice(x) + 1; }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "source.cpp").write_text(SOURCE)
    for place, factor in (("a", 2), ("b", 3)):
        (tmp_path / place).mkdir()
        options = [f"-DFACTOR={factor}", "-g", "-O0", "-shared", "-fPIC", "-Wl,--build-id"]
        subprocess.run(
            ["g++", *options, "-o", tmp_path / place / "libwork.so", tmp_path / "source.cpp"], check=True
        )
    return tmp_path


def program(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(f"import ctypes, os, shutil\n{text}")
    return path


def run(folder: Path, text: str, *specs: str, output: list[str] | None = None) -> tuple[list[str], Driver]:
    """Where the program stops, as ``function:line``; it has to end well."""

    async def work(driver: Driver) -> tuple[list[str], Driver]:
        seen = []
        while isinstance(event := await driver.next(Stopped, Exited), Stopped):
            frame = event.stop.frame
            assert isinstance(frame, NativeFrame)
            seen.append(f"{name(frame)}:{frame.line}")
            await driver.session.resume()
        assert event.exit.code == 0
        return seen, driver

    options = {"cwd": str(folder)}
    return run_session(work, program(folder, text), *specs, launch_options=options)


COME_AND_GO = """\
import _ctypes
for place in ("a", "a", "b", "a"):
    library = ctypes.CDLL(os.path.abspath(f"{place}/libwork.so"))
    print(library.enter(1), flush=True)
    _ctypes.dlclose(library._handle)
"""


def test_libraries_that_come_and_go(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    specs = ("twice", "source.cpp:2", "twice if x == 1")
    seen, driver = run(folder, COME_AND_GO, *specs)
    assert seen == ["twice:2"] * 4
    assert [driver.session.breakpoints.get(id).hit_count for id in (1, 2, 3)] == [4] * 3
    assert capfd.readouterr().out == "3\n3\n4\n3\n"


BOTH = """\
libraries = [ctypes.CDLL(os.path.abspath(f"{place}/libwork.so")) for place in ("a", "b")]
print([library.enter(1) for library in libraries])
"""


def test_two_libraries_of_one_name(folder: Path) -> None:
    symbols = subprocess.run(["nm", folder / "a/libwork.so"], capture_output=True, text=True, check=True)
    [row] = [line for line in symbols.stdout.splitlines() if line.endswith(" twice")]
    offset = row.split()[0]
    specs = ("twice", f"libwork.so+0x{offset}", f"{folder}/b/libwork.so+0x{offset}")
    seen, driver = run(folder, BOTH, *specs)
    assert [one.partition(":")[0] for one in seen] == ["twice"] * 4  # where it begins, and after that
    assert seen[1] == seen[3] == "twice:2"
    breakpoints = [driver.session.breakpoints.get(id) for id in (1, 2, 3)]
    assert [one.hit_count for one in breakpoints] == [2, 2, 1]
    for both in breakpoints[:2]:
        assert {Path(one.library or "").parent.name for one in both.locations} == {"a", "b"}


def test_a_stripped_library_and_one_with_addresses_of_its_own(folder: Path) -> None:
    """As prelink leaves the latter: link-time addresses that do not begin at zero."""
    subprocess.run(["strip", folder / "a/libwork.so"], check=True)
    command = ["g++", "-DFACTOR=2", "-g", "-shared", "-fPIC", "-Wl,-Ttext-segment=0x4000000", "-o"]
    subprocess.run([*command, folder / "b/libwork.so", folder / "source.cpp"], check=True)
    assert run(folder, BOTH, "twice", "source.cpp:3")[0] == ["twice:None", "twice:2", "twice:3"]


REPLACED = """\
library = ctypes.CDLL(os.path.abspath("a/libwork.so"))
os.replace("b/libwork.so", "a/libwork.so")
print(library.enter(1))
"""


def test_a_library_that_is_replaced_while_it_runs(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The new one has other lines: the stop is at those of the old one, and that is said."""
    longer = folder / "longer.cpp"
    longer.write_text("\n" * 20 + SOURCE)
    command = ["g++", "-DFACTOR=3", "-g", "-shared", "-fPIC", "-o", folder / "b/libwork.so", longer]
    subprocess.run(command, check=True)

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.breakpoints.add("twice")
        stop = await driver.resume()
        assert isinstance(stop.frame, NativeFrame) and (name(stop.frame), stop.frame.line) == ("twice", 2)
        assert any("was replaced on disk" in notice.message for notice in driver.notices)
        await driver.finish_run()

    run_session(work, program(folder, REPLACED), "program.py:4", launch_options={"cwd": str(folder)})
    assert capfd.readouterr().out == "3\n"


def test_a_library_that_is_overwritten_in_place(folder: Path) -> None:
    """Nothing is taken from the wrong file, and the rest of the session goes on."""
    text = REPLACED.replace("os.replace", "os.utime('a/libwork.so', (1, 1)) or (lambda *_: None)")

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.breakpoints.add("twice")
        await driver.session.breakpoints.add("PyErr_SetString")
        await driver.finish_run()
        assert any("overwritten" in notice.message for notice in driver.notices), driver.notices

    run_session(work, program(folder, text), "program.py:4", launch_options={"cwd": str(folder)})
    shutil.rmtree(folder / "a")


def test_the_index_of_a_big_library_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    big = folder / "padding"
    with big.open("wb") as file:
        file.truncate(60_000_000)
    command = ["objcopy", "--add-section", f".padding={big}", folder / "a/libwork.so"]
    subprocess.run(command, check=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    for _ in ("made", "used"):
        assert run(folder, BOTH.replace('("a", "b")', '("a",)'), "twice", "source.cpp:3")[0] == [
            "twice:2",
            "twice:3",
        ]
        assert list((folder / "cache").rglob("*.gdb-index"))


LOADED_TWICE = """\
libc, path = ctypes.CDLL(None), os.path.abspath("a/libwork.so")
libc.dlmopen.restype = libc.dlsym.restype = ctypes.c_void_p
libc.dlmopen.argtypes = ctypes.c_long, ctypes.c_char_p, ctypes.c_int
libc.dlsym.argtypes = ctypes.c_void_p, ctypes.c_char_p
LM_ID_NEWLM, RTLD_NOW = -1, 2
copy = libc.dlsym(libc.dlmopen(LM_ID_NEWLM, path.encode(), RTLD_NOW), b"twice")
print(ctypes.CDLL(path).twice(1) + ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(copy)(2))
"""


def test_a_library_that_is_loaded_twice(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen, driver = run(folder, LOADED_TWICE, "twice")
    assert seen == ["twice:2", "twice:2"] and len(driver.session.breakpoints.get(1).locations) == 2
    assert capfd.readouterr().out == "6\n"


def test_a_library_that_is_loaded_by_a_relative_name(folder: Path) -> None:
    """Its name counts from where the program is, which may be another folder than gdb's."""
    text = "ctypes.CDLL('./a/libwork.so').enter(1)\nos.chdir('b')\nctypes.CDLL('./libwork.so').enter(1)\n"
    seen, driver = run(folder, text, "source.cpp:2", "twice")
    assert seen == ["twice:2"] * 2
    assert [driver.session.breakpoints.get(id).hit_count for id in (1, 2)] == [2, 2]
