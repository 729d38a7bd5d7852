"""Steps out of functions that do not return by themselves: inlined ones, and ones that end in a jump to another."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import NativeFrame
from samples.native.build import build as build_native
from samples.walks.build import HERE, build
from tests import support
from tests.session.driver import Driver, name, run_session

WALKS = HERE / "walks.py"

SOURCE = """\
#include <stdexcept>
#include <string>
#include <stdlib.h>
#include <unistd.h>
#include <vector>
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
extern "C" __attribute__((noinline)) int jumps(int x) {
    seen = x;
    return getppid();
}
extern "C" __attribute__((noinline)) int around(int x) {
    int y = jumps(x);
    seen = y;
    return seen + y;
}
extern "C" __attribute__((noinline)) int seldom(int x) {
    if (x > 3) {
        seen = x;
        throw std::runtime_error("x is " + std::to_string(x));
    }
    return x;
}
extern "C" __attribute__((noinline)) int tries(int x) {
    try {
        x = seldom(x);
    } catch (const std::exception& error) {
        x = -x;
    }
    seen = x;
    return x;
}
static int compare(const void *a, const void *b) {
    int x = *(const int *)a;
    int y = *(const int *)b;
    return x < y ? -1 : x > y;
}
__attribute__((noinline)) int least(std::vector<int> v) {
    qsort(v.data(), v.size(), sizeof(int), compare);
    seen = v[0];
    return v[0];
}
extern "C" int sorts(int x) { return least({x, 1}); }
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("inlined"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, optimised while it was linked."""
    return compiled(tmp_path_factory.mktemp("whole"), "-flto")


def compiled(folder: Path, *options: str) -> Path:
    compiler = support.require(shutil.which("g++"), "a C++ compiler")
    source, library, script = folder / "inlined.cpp", folder / "libinlined.so", folder / "program.py"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-g", "-O2", "-shared", "-fPIC", *options, "-o", library, source], check=True)
    calls = "library.calls(1)\nlibrary.jumps(2)\nlibrary.around(3)\nlibrary.tries(4)\nlibrary.sorts(5)\n"
    script.write_text(f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\n{calls}")
    return script


def at(text: str) -> str:
    """The first line with this text, as a breakpoint."""
    lines = SOURCE.splitlines()
    return f"inlined.cpp:{next(number for number, line in enumerate(lines, 1) if text in line)}"


def test_finish_ends_in_the_function_around(script: Path) -> None:
    async def work(driver: Driver) -> None:
        assert name((await driver.stop()).frame) == "innermost"
        found = [name((await driver.step("finish")).frame) for _ in range(4)]
        assert found == ["inner", "outer", "calls", "program.py:3"]
        await driver.finish_run()

    run_session(work, script, at("seen = x;"))


def test_another_stop_on_the_way_is_shown(script: Path) -> None:
    async def work(driver: Driver) -> None:
        assert name((await driver.stop()).frame) == "inner"
        assert name((await driver.step("finish")).frame) == "innermost"  # the breakpoint
        assert name((await driver.step("finish")).frame) == "inner"
        assert name((await driver.step("finish")).frame) == "outer"
        await driver.finish_run()

    run_session(work, script, at("INLINE int inner("), at("seen = x;"))


@pytest.mark.parametrize("kind", ["next", "step"])
def test_a_jump_to_another_library_ends_in_the_caller(script: Path, kind: str) -> None:
    async def work(driver: Driver) -> None:
        ends = []
        for _ in range(2):
            assert name((await driver.stop()).frame) == "jumps"
            for _ in range(4):
                found = name((await driver.step(kind)).frame)
                if found != "jumps":
                    break
            ends.append(found)
            await driver.session.resume()
        assert ends == ["program.py:4", "around"]
        await driver.exit()

    run_session(work, script, "jumps")


@pytest.mark.parametrize("kind", ["next", "step", "until"])
def test_steps_where_a_library_is_inlined_into_a_part_that_is_seldom_run(script: Path, kind: str) -> None:
    """They end on lines of the user's, and at the handler; gdb's own until aborts gdb there."""

    async def work(driver: Driver) -> None:
        assert name((await driver.stop()).frame) == "seldom"
        found = []
        while not found or found[-1] == "seldom":
            found.append(name((await driver.step(kind)).frame))
        assert found == ["seldom"] * (len(found) - 1) + ["tries"] and len(found) < 6
        await driver.finish_run()

    run_session(work, script, at("if (x > 3)"))


def test_a_return_to_what_was_inlined_is_shown_on_the_authors_line(script: Path) -> None:
    """That of the call, or the next one, where the compiler tells that what comes was inlined there (GCC 16)."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        frame = (await driver.step("finish")).frame
        assert isinstance(frame, NativeFrame) and frame.function == "least"
        assert f"inlined.cpp:{frame.line}" in (at("qsort(v.data"), at("seen = v[0]"))
        assert frame.file is not None and frame.file.endswith("inlined.cpp")
        await driver.finish_run()

    run_session(work, script, at("int y = *(const"))


def test_a_function_that_was_optimised_while_linking_has_its_file(whole: Path) -> None:
    """GCC gives it the file <artificial>."""

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        (place,) = driver.session.breakpoints.get(1).locations
        assert isinstance(stop.frame, NativeFrame)
        for file, line in ((stop.frame.file, stop.frame.line), (place.file, place.line)):
            assert file is not None and file.endswith("inlined.cpp") and line in range(30, 50)
        await driver.finish_run()

    run_session(work, whole, "seldom")


@pytest.mark.parametrize("kinds", [["step"], ["step", "step", "next"]])
def test_an_inlined_constructor_is_come_to_once(kinds: list[str]) -> None:
    """Its instructions are mixed with those of the lines around the call."""

    async def work(driver: Driver) -> None:
        found, stop = [], await driver.stop()
        while not found or not found[-1].startswith("block"):
            assert isinstance(stop.frame, NativeFrame), found
            found.append((stop.frame.function or "").replace("(anonymous namespace)::", ""))
            stop = await driver.step(kinds[len(found) % len(kinds)])
        assert "guarded" in found[0] and found.count("Keeper::Keeper") == 1, found
        await driver.finish_run()

    folder = build("2")
    options = {"args": ("n(g(l)))",)}
    run_session(work, WALKS, "sample_walks.cpp:55", env={"PYTHONPATH": str(folder)}, launch_options=options)


def test_names_of_inlined_functions_are_short(crossing: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.step("step")
        frames = [one for one in (await driver.stack()).frames if isinstance(one, NativeFrame)]
        inlined = [name(one) for one in frames if one.inlined]
        assert inlined
        for one in inlined:
            bare = one.replace("(anonymous namespace)", "").replace("operator()", "")
            assert not any(letter in bare for letter in "<>()"), one
        await driver.finish_run()

    folder = build_native(optimize="2")
    run_session(work, crossing, "crossing.py:7", env={"PYTHONPATH": str(folder)})
