"""What a function has returned that a step has left: of C++, of Python, and where nothing is told."""

from __future__ import annotations

import platform
import subprocess
import sysconfig
from pathlib import Path

import pytest

from dualdbg.model import Breakpoint, Language, Reason, Stop, Value
from tests import rows
from tests.session.driver import Driver, name, run_session
from tests.support import other_interpreter

Env = dict[str, str]


def shown(stop: Stop) -> tuple[str, str, str] | None:
    result = stop.result
    return None if result is None else (result.name, result.type, result.value)


async def variables(driver: Driver, stop: Stop) -> list[Value]:
    assert stop.frame is not None
    return await driver.session.inspector.variables(stop.thread.tid, stop.frame)


def test_finish_tells_what_a_function_has_returned(crossing: Path, env: Env) -> None:
    """Of C++, and of Python that native code called. An exception is no result."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("finish")
        assert name(stop.frame) == "crossing.py:5"
        assert shown(stop) == ("(return) (anonymous namespace)::add", "double", "3.5")
        assert (await variables(driver, stop))[0] == stop.result
        await driver.resume()
        stop = await driver.step("finish")  # to the function that called it, where there is one
        assert (name(stop.frame), shown(stop)) == (
            "capi_outer",
            ("(return) sample::outer", "double", "4.8333333333333339"),
        )
        assert (await variables(driver, stop))[0] == stop.result
        stop = await driver.step("finish")
        kind, text = (shown(stop) or ("", "", ""))[1:]
        assert (kind, text.split()[-1]) == ("PyObject *", "4.833333333333334")
        stop = await driver.step("next")
        assert stop.result is None  # it is that of the step alone
        assert name((await driver.resume()).frame) == "crossing.py:3"
        stop = await driver.step("finish")
        assert stop.origin is Language.NATIVE and name(stop.frame) == "(anonymous namespace)::call_back"
        assert shown(stop) == ("(return) double", "PyObject*", "20.0")
        assert (await driver.resume()).result is None
        stop = await driver.step("finish")
        assert (name(stop.frame), stop.reason, stop.result) == ("crossing.py:13", Reason.STEP, None)
        await driver.finish_run()

    specs = ("sample_pybind.cpp:17", "sample::outer", "crossing.py:3", "raise_error")
    run_session(work, crossing, *specs, env=env)


def test_a_step_that_another_stop_interrupts_has_no_result(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        assert name((await driver.stop()).frame) == "capi_outer"
        stop = await driver.step("finish")
        assert (name(stop.frame), stop.reason, stop.result) == ("sample::outer", Reason.BREAKPOINT, None)
        stop = await driver.resume()
        assert (name(stop.frame), stop.result) == ("crossing.py:8", None)
        await driver.finish_run()

    run_session(work, crossing, "capi_outer", "sample::outer", "crossing.py:8", env=env)


NO_TYPES = """\
#include <memory>
#include <string>
#include <vector>
#include <tuple>
#include <Python.h>
#define HERE __attribute__((noipa))
namespace ns {
struct Odd { int n; ~Odd() { asm(""); } };
template <class T> HERE std::vector<T> twice(T value) { return {value, value}; }
template <class T> HERE std::tuple<T, std::string> pair(T value) { return {value, "second"}; }
template <class T> HERE Odd odd(T value) { return {int(value)}; }
template <class T> HERE double half(T value) { return value / 2.0; }
template <class T> HERE T deep(T value) { return value > 0 ? deep(value - 1) + half(1) : value; }
HERE long plain(long value) { asm(""); return value + 1; }
struct Meters { double length; HERE operator double() const { asm(""); return length; } };
}
extern "C" {
PyObject* call(PyObject*, PyObject* argument) {
  long n = PyLong_AsLong(argument);
  ns::twice(n); ns::pair(n); ns::odd(n); ns::plain(n); ns::deep(double(n));
  return PyFloat_FromDouble(double(ns::Meters{2.5}));
}
PyMethodDef methods[] = {{"call", call, METH_O, nullptr}, {}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "untyped", nullptr, -1, methods};
PyMODINIT_FUNC PyInit_untyped() { return PyModule_Create(&module); }
}
"""
FIRST = "x0" if platform.machine() == "aarch64" else "rax"
SOMEWHERE = f"<not known: where such a value is returned; {FIRST} is 0x"
WITHOUT_TYPES = {
    "ns::twice": ("vector<long>", "[7, 7]"),
    "ns::pair": ("tuple<long, string>", '(7, "second")'),
    "ns::odd": ("ns::Odd", SOMEWHERE),
    "ns::plain": ("", f"<not known: nothing tells its type; {FIRST} is 0x8>"),
    "ns::deep": ("double", "3.5"),
    "ns::Meters::operator double": ("double", "2.5"),
}


def test_functions_without_debug_info(tmp_path: Path) -> None:
    (tmp_path / "untyped.cpp").write_text(NO_TYPES)
    include = sysconfig.get_path("include")
    command = [
        "g++",
        "-std=c++17",
        "-O1",
        "-shared",
        "-fPIC",
        f"-I{include}",
        "untyped.cpp",
        "-o",
        "untyped.so",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    script = tmp_path / "script.py"
    script.write_text("import untyped\nuntyped.call(7)\n")

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        for function, (kind, text) in WITHOUT_TYPES.items():
            if function == "ns::deep":
                await driver.session.breakpoints.enable(numbers(driver)["ns::deep"].id, False)
            assert name(stop.frame) == function
            stop = await driver.step("finish")
            found = shown(stop)
            assert found is not None and found[:2] == (f"(return) {function}", kind)
            assert found[2].startswith(text), found
            if function != "ns::Meters::operator double":
                stop = await driver.resume()
        await driver.finish_run()

    def numbers(driver: Driver) -> dict[str, Breakpoint]:
        return {row.spec.subject: row for row in driver.session.breakpoints.all()}

    run_session(work, script, *WITHOUT_TYPES, env={"PYTHONPATH": str(tmp_path)})


# Once a call has run often, the evaluation loop of 3.12 and later makes it itself, with no C frame between.
CALLED_BY_THE_LOOP = """\
#include <Python.h>
static PyObject *often(PyObject *self, PyObject *number) { return PyNumber_Negative(number); }
static PyObject *last(PyObject *self, PyObject *number) { return PyNumber_Add(number, number); }
static PyMethodDef methods[] = {{"often", often, METH_O, ""}, {"last", last, METH_O, ""}, {0}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "looped", 0, -1, methods};
PyMODINIT_FUNC PyInit_looped(void) { return PyModule_Create(&module); }
"""
CALLS_OFTEN = """\
import looped

def call(number):
    for function in [looped.often] * 100 + [looped.last]:
        number = function(number)
    return number

call(7)
"""


@pytest.mark.parametrize("version", rows.some(["3.13", "3.12", "3.14", "3.15"], 1))
def test_a_function_that_the_evaluation_loop_itself_called(tmp_path: Path, version: str) -> None:
    python = other_interpreter(version)
    question = "import sysconfig; print(sysconfig.get_path('include'))"
    include = subprocess.run([python, "-c", question], capture_output=True, text=True, check=True).stdout
    (tmp_path / "looped.c").write_text(CALLED_BY_THE_LOOP)
    command = ["gcc", "-g", "-shared", "-fPIC", f"-I{include.strip()}", "looped.c", "-o", "looped.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    script = tmp_path / "script.py"
    script.write_text(CALLS_OFTEN)

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        stack = await driver.session.inspector.stack(stop.thread.tid)
        assert [name(frame) for frame in stack.frames[:2]] == ["last", "script.py:5"]
        stop = await driver.step("finish")
        kind, text = (shown(stop) or ("", "", ""))[1:]
        assert (name(stop.frame), kind, text.split()[-1]) == ("script.py:5", "PyObject *", "14")
        await driver.finish_run()

    options = {"python": str(python)}
    run_session(work, script, "last", env={"PYTHONPATH": str(tmp_path)}, launch_options=options)


IN_PYTHON = """\
# Each function is left once.

class Box:
    def fill(self, what):
        self.what = what
        return [what, self.what]

def nothing(x):
    y = x

def fails(x):
    y = x
    raise ValueError(y)

def finds(x):
    try:
        return x + 1
    finally:
        y = x

def main():
    Box().fill("tea")
    nothing(1)
    try:
        fails(2)
    except ValueError:
        pass
    finds(3)
    nothing(4)

main()
"""
LINES = (5, 9, 12, 19)  # of what follows the call in each function


@pytest.mark.parametrize("version", rows.versions())
def test_finish_tells_what_a_python_function_has_returned(tmp_path: Path, version: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(IN_PYTHON)
    python = other_interpreter(version)

    async def work(driver: Driver) -> list[tuple[str, str, str] | None]:
        await driver.stop()
        found = []
        for _ in range(5):
            stop = await driver.step("finish")
            assert stop.reason is Reason.STEP, driver.notices
            found.append(shown(stop))
            if len(found) < 5:
                assert (await driver.resume()).result is None
        await driver.finish_run()
        return found

    breakpoints = [f"script.py:{line}" for line in LINES]
    found = run_session(work, script, *breakpoints, launch_options={"python": str(python)})
    assert found == [
        ("(return) fill", "list", "['tea', 'tea']"),
        ("(return) nothing", "NoneType", "None"),
        None,
        ("(return) finds", "int", "4"),
        ("(return) nothing", "NoneType", "None"),
    ]
