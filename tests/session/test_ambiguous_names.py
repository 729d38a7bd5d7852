"""A name that turns out to be that of several things is told, with what to type for each."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Notice
from dualdbg.symbols.torch.operators import OperatorTable
from tests.session.driver import Driver, name, run_session

SOURCE = """\
namespace first { __attribute__((noinline)) int work(int x) { return x + 1; } }
namespace second { __attribute__((noinline)) int work(int x) { return x + 2; } }
extern "C" int both(int x) { return first::work(x) + second::work(x); }
"""
PROGRAM = """\
import ctypes, sys
print(ctypes.CDLL(sys.argv[1]).both(1))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "both.cpp").write_text(SOURCE)
    library = tmp_path / "libboth.so"
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", library, tmp_path / "both.cpp"], check=True)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def ambiguities(driver: Driver) -> list[Notice]:
    return [notice for notice in driver.notices if "to mean one alone" in notice.hint]


def test_a_function_of_several_scopes(program: Path) -> None:
    async def work(driver: Driver) -> None:
        assert name((await driver.stop()).frame) == "first::work"
        [notice] = ambiguities(driver)
        assert "breakpoint 1: work is the name of 2 functions" in notice.message
        assert "::first::work (the function in libboth.so), ::second::work" in notice.message
        assert notice.hint == "to mean one alone: ::first::work, ::second::work"
        assert name((await driver.resume()).frame) == "second::work"
        await driver.session.resume()
        await driver.exit()
        assert len(ambiguities(driver)) == 1

    library = str(program.parent / "libboth.so")
    run_session(work, program, "work", "second::work", "w*k", launch_options={"args": [library]})


@pytest.mark.torch
def test_an_operator_and_a_function_of_the_users(
    program: Path, operators: OperatorTable, env: dict[str, str]
) -> None:
    program.write_text("import sample_pybind\nsample_pybind.add(1.0, 2.0)\n")

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert name(stop.frame) == "(anonymous namespace)::add"
        assert stop.breakpoints == (1, 3)
        [notice] = ambiguities(driver)
        assert "breakpoint 1: add is PyTorch's operator and stops in ::(anonymous" in notice.message
        assert notice.hint == "to mean one alone: aten::add, ::(anonymous namespace)::add"
        await driver.session.breakpoints.add("add if 1")  # what is loaded is looked at too
        assert "breakpoint 4: " in (await driver.next(Notice)).message
        await driver.finish_run()

    meant = ("add", "aten::add", "::(anonymous namespace)::add")
    run_session(work, program, *meant, operators=operators, env=env)


RECURSIVE = """\
namespace at { __attribute__((noinline)) int outer(int n) { return n + 1; } }
namespace std { __attribute__((noinline)) int outer(int n) { return n + 1; } }
static __attribute__((noinline)) int outer(int n) { int less = n > 0 ? outer(n - 1) : 0; return less + n; }
static inline __attribute__((always_inline)) int dot(int n) { return n * n + 7; }
extern "C" int both(int n) { return outer(n) + at::outer(n) + std::outer(n) + dot(n) + dot(n + 1); }
"""


@pytest.mark.torch
def test_functions_of_the_users_stop_at_each_call_and_without_pytorch(
    tmp_path: Path, operators: OperatorTable
) -> None:
    """Also in recursion and where they were inlined, and none that headers of PyTorch or of C++ have brought."""
    (tmp_path / "both.cpp").write_text(RECURSIVE)
    library = tmp_path / "libboth.so"
    options = ("-O1", "-g", "-fno-optimize-sibling-calls", "-shared", "-fPIC")
    subprocess.run(["g++", *options, "-o", library, tmp_path / "both.cpp"], check=True)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("both(1)", "both(2)"))

    async def work(driver: Driver) -> None:
        stops = [await driver.stop()]
        while len(stops) < 5:
            stops.append(await driver.resume())
        assert [name(stop.frame) for stop in stops] == ["outer"] * 3 + ["dot"] * 2
        await driver.session.resume()
        await driver.exit()

    run_session(work, program, "outer", "dot", operators=operators, launch_options={"args": [str(library)]})


def test_a_typo_at_a_stop_gets_the_nearest_names(program: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.breakpoints.add("second::wrok")
        while not driver.notices:
            await driver.next(Notice)
        [notice] = driver.notices
        assert notice.message == "breakpoint 2: nothing that is loaded is named second::wrok"
        assert notice.hint.startswith("nearest names: ") and "second::work" in notice.hint
        await driver.finish_run()

    library = str(program.parent / "libboth.so")
    run_session(work, program, "first::work", launch_options={"args": [library]})
