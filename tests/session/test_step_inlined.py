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


CALLS = ["calls(1)"] * 2 + ["jumps(2)", "around(3)"] * 2 + ["tries(4)"] * 3 + ["sorts(5)"]


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
    calls = "".join(f"library.{call}\n" for call in CALLS)
    script.write_text(f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\n{calls}")
    return script


def at(text: str) -> str:
    """The first line with this text, as a breakpoint."""
    lines = SOURCE.splitlines()
    return f"inlined.cpp:{next(number for number, line in enumerate(lines, 1) if text in line)}"


def test_steps_out_of_inlined_functions_and_of_those_that_end_in_a_jump(script: Path) -> None:
    async def work(driver: Driver) -> None:
        async def stops_at(*specs: str) -> str:
            """The function where it stops next, by these breakpoints alone."""
            for row in driver.session.breakpoints.all():
                await driver.session.breakpoints.remove(row.id)
            for spec in specs:
                await driver.session.breakpoints.add(spec)
            return name((await driver.resume()).frame)

        await driver.stop()
        assert await stops_at(at("seen = x;")) == "innermost"
        found = [name((await driver.step("finish")).frame) for _ in range(4)]
        assert found == ["inner", "outer", "calls", "program.py:3"]

        assert await stops_at(at("INLINE int inner("), at("seen = x;")) == "inner"
        assert name((await driver.step("finish")).frame) == "innermost"  # the breakpoint on the way
        assert name((await driver.step("finish")).frame) == "inner"
        assert name((await driver.step("finish")).frame) == "outer"

        # A jump to another library ends in the caller.
        for kind, caller in (
            ("next", "program.py:5"),
            ("next", "around"),
            ("step", "program.py:7"),
            ("step", "around"),
        ):
            assert await stops_at("jumps") == "jumps"
            for _ in range(4):
                ended = name((await driver.step(kind)).frame)
                if ended != "jumps":
                    break
            assert ended == caller, kind

        # Where a library is inlined into a part that is seldom run, steps end on lines of the user's, and at the
        # handler; gdb's own until aborts gdb there.
        for kind in ("next", "step", "until"):
            assert await stops_at(at("if (x > 3)")) == "seldom"
            found = []
            while not found or found[-1] == "seldom":
                found.append(name((await driver.step(kind)).frame))
            assert found == ["seldom"] * (len(found) - 1) + ["tries"] and len(found) < 6

        # A return to what was inlined is shown on the line of the call, or the next one, where the compiler tells
        # that what comes was inlined there (GCC 16).
        await stops_at(at("int y = *(const"))
        frame = (await driver.step("finish")).frame
        assert isinstance(frame, NativeFrame) and frame.function == "least"
        assert f"inlined.cpp:{frame.line}" in (at("qsort(v.data"), at("seen = v[0]"))
        assert frame.file is not None and frame.file.endswith("inlined.cpp")
        await driver.finish_run()

    run_session(work, script, "program.py:3")


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


def test_an_inlined_constructor_is_come_to_once() -> None:
    """Its instructions are mixed with those of the lines around the call."""

    async def work(driver: Driver) -> None:
        for kinds in (["step"], ["step", "step", "next"]):
            found, stop = [], await driver.stop()
            while not found or not found[-1].startswith("block"):
                assert isinstance(stop.frame, NativeFrame), found
                found.append((stop.frame.function or "").replace("(anonymous namespace)::", ""))
                stop = await driver.step(kinds[len(found) % len(kinds)])
            assert "guarded" in found[0] and found.count("Keeper::Keeper") == 1, found
            await driver.session.resume()
        await driver.exit()

    folder = build("2")
    options = {"args": ("n(g(l)g(l)))",)}
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
