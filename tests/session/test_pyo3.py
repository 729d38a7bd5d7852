"""An extension that was made with PyO3: functions and methods by name, steps, variables, errors and panics."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from dualdbg.model import NativeFrame, PythonFrame, Role
from tests import support
from tests.session.driver import Driver, name, run_session

LEVELS = [pytest.param("O0", marks=pytest.mark.exhaustive), "O2"]

PROGRAM = """\
import sample_pyo3 as s
def twice(v):
    w = v * 2
    return w
a = s.tally([1, 2, 3], 2)
k = s.Counter(4)
b = k.increase(2)
c = k.doubled
e = len(k)
g = s.call_back(twice)
try:
    s.checked(-1)
except ValueError as error:
    kept = error
try:
    s.checked(3)
except BaseException as error:
    kept = error
print(a, b, c, e, g, repr(kept))
"""


def program(folder: Path) -> Path:
    path = folder / "program.py"
    path.write_text(PROGRAM)
    return path


def environment(level: str) -> dict[str, str]:
    return {"PYTHONPATH": str(support.build_pyo3(level)), "RUST_BACKTRACE": "0"}


async def where(driver: Driver) -> str:
    frame = next(one for one in (await driver.stack()).visible() if one.role is Role.USER)
    return name(frame) if isinstance(frame, PythonFrame) else f"{name(frame)}:{frame.line}"


# The breakpoints of a run, and its stops: which of them stop, in which function, called from which line.
NAMES = ["sample_pyo3::tally", "Counter::increase", "weigh", "tally", "Counter::doubled", "Counter::__len__"]
NAMES += ["sample_pyo3::call_back"]
STOPS = [
    ((1, 4), "sample_pyo3::tally", 5),
    *[((3,), "sample_pyo3::weigh", 5)] * 3,
    ((2,), "sample_pyo3::Counter::increase", 7),
    ((5,), "sample_pyo3::Counter::doubled", 8),
    ((6,), "sample_pyo3::Counter::__len__", 9),
    ((7,), "sample_pyo3::call_back", 10),
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.usefixtures("pyo3_crates")
def test_functions_stop_by_their_names_and_a_panic_on_the_line_that_raised_it(
    tmp_path: Path, level: str
) -> None:
    """Also where the compiler has put one into what PyO3's macros make, which is glue."""

    async def work(driver: Driver) -> None:
        stop, values = await driver.stop(), iter(("1", "2", "3"))
        for ids, function, line in STOPS:
            assert stop.breakpoints == ids
            frames = (await driver.stack()).visible()
            assert isinstance(frames[0], NativeFrame) and frames[0].source_language == "rust"
            assert (name(frames[0]), frames[0].role) == (function, Role.USER)
            users = [one for one in frames if isinstance(one, NativeFrame) and one.role is Role.USER]
            assert {name(one) for one in users} <= {function, "sample_pyo3::tally"}
            python = next(one for one in frames if isinstance(one, PythonFrame))
            assert python.line == line
            if level == "O0" and ids == (3,):
                rows = await driver.session.inspector.variables(stop.thread.tid, frames[0])
                assert {row.name: row.value for row in rows} == {"value": next(values), "step": "2"}
            stop = await driver.resume()
        assert isinstance(stop.frame, NativeFrame) and name(stop.frame) == "sample_pyo3::halved"
        said = f"panic: odd: 3, thrown in sample_pyo3::halved at lib.rs:{stop.frame.line}, called from program.py:16"
        assert stop.description == said
        assert (await driver.finish_run()).code == 0

    run_session(work, program(tmp_path), *NAMES, "throw:panic", env=environment(level))


@pytest.fixture
def without_debug_info(tmp_path: Path) -> dict[str, str]:
    """The environment with the module as wheels of the registry have it: names of functions, no debug info."""
    strip = support.require(shutil.which("strip"), "strip (binutils)")
    folder = tmp_path / "names_only"
    folder.mkdir()
    (library,) = support.build_pyo3("O2").glob("sample_pyo3*.so")
    subprocess.run([strip, "--strip-debug", "-o", folder / library.name, library], check=True)
    return {"PYTHONPATH": str(folder), "RUST_BACKTRACE": "0"}


async def step_in_and_out(driver: Driver, entered: dict[int, str]) -> None:
    """``step`` from each of these lines of the program ends there, and ``finish`` on the line."""
    for line, ends in entered.items():
        await driver.session.breakpoints.add(f"program.py:{line}")
        await driver.resume()
        await driver.step("step")
        assert await where(driver) == ends
        await driver.step("finish")
        assert await where(driver) == f"program.py:{line}"


@pytest.mark.usefixtures("pyo3_crates")
def test_a_step_enters_the_function_behind_a_trampoline_without_debug_info(
    tmp_path: Path, without_debug_info: dict[str, str]
) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        functions = {7: "Counter::increase", 10: "call_back", 12: "checked"}
        await step_in_and_out(driver, {line: f"sample_pyo3::{one}:None" for line, one in functions.items()})
        await driver.finish_run()

    run_session(work, program(tmp_path), "program.py:5", env=without_debug_info)


# What PyO3 0.23 and later make of a method, in their names: a trampoline that has the address of the macro's wrapper.
TRAMPOLINE = """\
#include <Python.h>
__asm__(".section .comment\\n.string \\"rustc version 1.80.0\\"\\n.text");
#define HASH "17h0123456789abcdefE"
PyObject* method(void) __asm__("_ZN5crate3Dog4bark" HASH);
PyObject* wrapper(PyObject*, PyObject*) __asm__("_ZN5crate3Dog17__pymethod_bark__" HASH);
PyObject* other(PyObject*, PyObject*) __asm__("_ZN5crate3Dog16__pymethod_eat__" HASH);
PyObject* noargs(PyObject*, PyObject*) __asm__("_ZN4pyo35impl_10trampoline6noargs" HASH);
PyObject* guarded(PyCFunction*, PyObject*, PyObject*) __asm__("_ZN4pyo35impl_10trampoline10trampoline" HASH);
__attribute__((noinline)) PyObject* method(void) { return PyLong_FromLong(3); }
__attribute__((noinline)) PyObject* other(PyObject* self, PyObject* none) { return PyLong_FromLong(4); }
__attribute__((noinline)) PyObject* wrapper(PyObject* self, PyObject* none) {
    PyObject* made = method();
    __asm__ volatile("" : "+r"(made));
    return made;
}
__attribute__((noinline)) PyObject* guarded(PyCFunction* called, PyObject* self, PyObject* none) {
    PyObject* made = (*called)(self, none);
    __asm__ volatile("" : "+r"(made));
    return made;
}
PyObject* noargs(PyObject* self, PyObject* none) {
    PyCFunction called = wrapper;
    __asm__ volatile("" : "+m"(called));
    PyObject* made = guarded(&called, self, none);
    __asm__ volatile("" : "+r"(made));
    return made;
}
static PyMethodDef methods[] = {{"bark", noargs, METH_NOARGS, ""}, {}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "trampolines", "", -1, methods};
PyMODINIT_FUNC PyInit_trampolines(void) { return PyModule_Create(&definition); }
"""


def test_a_step_enters_the_function_that_a_trampoline_has_by_address(tmp_path: Path) -> None:
    compiler = support.require(shutil.which("gcc"), "a C compiler")
    source, library = tmp_path / "trampolines.c", tmp_path / "trampolines.so"
    source.write_text(TRAMPOLINE)
    include = sysconfig.get_paths()["include"]
    options = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{include}"]
    command = [compiler, *options, source, "-o", library]
    subprocess.run(command, check=True)
    path = tmp_path / "program.py"
    path.write_text("import trampolines\ntrampolines.bark()\nprint('end')\n")

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.step("step")
        assert await where(driver) == "crate::Dog::bark:None"
        await driver.step("finish")
        assert await where(driver) == "program.py:2"
        await driver.finish_run()

    run_session(work, path, "program.py:2", env={"PYTHONPATH": str(tmp_path)})


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.usefixtures("pyo3_crates")
def test_steps_enter_and_leave_the_authors_functions_and_go_from_line_to_line(
    tmp_path: Path, level: str
) -> None:
    """Though each round of the loop begins with code of Rust's library, and the function was inlined itself."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.step("step")
        found = []
        while (place := await where(driver)).startswith("sample_pyo3::tally"):
            found.append(int(place.rpartition(":")[2]))
            await driver.step("next")
        lines = [line for line, _ in itertools.groupby(found)]  # rustc has several statements on a line
        assert lines[lines.index(9) :][:6] == [9, 10] * 3
        assert place == "program.py:5"
        functions = {7: "Counter::increase:58", 8: "Counter::doubled:70", 9: "Counter::__len__:80"}
        functions |= {10: "call_back:23", 12: "checked:29"}
        await step_in_and_out(driver, {line: f"sample_pyo3::{one}" for line, one in functions.items()})
        await driver.finish_run()

    run_session(work, program(tmp_path), "program.py:5", env=environment(level))
