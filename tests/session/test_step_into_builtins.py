"""``step`` enters functions of an extension that a built-in of Python calls for the line, and goes on in mid-line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Reason
from tests import rows
from tests.session.driver import Driver, name, run_session
from tests.support import other_interpreter

EXTENSION = """\
#include <Python.h>
static PyObject *minus(PyObject *self, PyObject *one) { return PyNumber_Negative(one); }
static PyObject *plus(PyObject *self, PyObject *given) {
  return PyNumber_Add(PyTuple_GET_ITEM(given, 0), PyTuple_GET_ITEM(given, 1));
}
static PyObject *unit_text(PyObject *self) { return PyUnicode_FromString("unit"); }
static Py_hash_t unit_hash(PyObject *self) { return 1; }
static Py_ssize_t unit_length(PyObject *self) { return 2; }
static PyObject *unit_compare(PyObject *self, PyObject *other, int what) { return PyBool_FromLong(1); }
static PyObject *unit_add(PyObject *one, PyObject *other) { return PyLong_FromLong(3); }
static PyObject *unit_get(PyObject *self, PyObject *name) { return PyObject_GenericGetAttr(self, name); }
static PyMethodDef methods[] = {{"minus", minus, METH_O, ""}, {"plus", plus, METH_VARARGS, ""}, {0}};
static PyType_Slot slots[] = {{Py_tp_str, unit_text}, {Py_tp_hash, unit_hash}, {Py_mp_length, unit_length},
  {Py_tp_richcompare, unit_compare}, {Py_nb_add, unit_add}, {Py_tp_getattro, unit_get}, {0}};
static PyType_Spec unit = {"held.Unit", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "held", 0, -1, methods};
PyMODINIT_FUNC PyInit_held(void) {
  PyObject *made = PyModule_Create(&module);
  PyModule_AddObject(made, "Unit", PyType_FromSpec(&unit));
  return made;
}
"""
# Each line enters the function that its comment names; without a comment it is stepped over: a library's Python code
# makes the calls.
PROGRAM = """\
import functools, itertools, timeit, held
from held import minus
made = functools.partial(held.plus, 1)
mapped, again = map(minus, [1, 2]), functools.partial(made)
unit, cached = held.Unit(), functools.lru_cache(None)(minus)
units = [unit, held.Unit()]
first = 1
a = made(2)  # plus
a = again(2)  # plus
a = functools.partial(held.plus, 1)(2)  # plus
a = sorted([2, 1], key=held.minus)  # minus
a = list(map(minus, [1]))  # minus
a = list(mapped)  # minus
a = any(map(minus, [1]))  # minus
a = list(filter(held.minus, [1]))  # minus
a = min([2, 1], key=minus) + first  # minus
a = max([2, 1], key=minus)  # minus
a = functools.reduce(held.plus, [1, 2])  # plus
a = cached(4)  # minus
a = list(itertools.starmap(held.plus, [(1, 2)]))  # plus
a = len(unit)  # unit_length
a = hash(unit)  # unit_hash
a = str(unit)  # unit_text
a = set(units)  # unit_hash
a = sorted(units)  # unit_compare
a = sum(units, unit)  # unit_add
a = getattr(unit, "__doc__")  # unit_get
a = "{}".format(len([1]))
a = timeit.timeit(functools.partial(minus, 1), number=3)
a = minus(1) + held.plus(2, 3)  # minus
end = 1
"""


def built(folder: Path, python: Path) -> Path:
    (folder / "held.c").write_text(EXTENSION)
    question = "import sysconfig; print(sysconfig.get_path('include'))"
    include = subprocess.run([python, "-c", question], capture_output=True, text=True, check=True).stdout
    command = ["gcc", "-g", "-shared", "-fPIC", f"-I{include.strip()}", "held.c", "-o", "held.so"]
    subprocess.run(command, cwd=folder, check=True)
    script = folder / "script.py"
    script.write_text(PROGRAM)
    return script


@pytest.mark.parametrize("version", rows.versions())
def test_step_enters_what_builtins_call_for_the_line(tmp_path: Path, version: str) -> None:
    python = other_interpreter(version)
    script = built(tmp_path, python)
    lines = PROGRAM.splitlines()
    begin = lines.index("first = 1") + 1

    async def work(driver: Driver) -> dict[str, str]:
        found = {}
        stop = await driver.stop()
        for number in range(begin, len(lines) + 1):
            assert name(stop.frame) == f"script.py:{number}", found
            stop = await driver.step("step")
            if not name(stop.frame).startswith("script.py:"):
                found[lines[number - 1]] = name(stop.frame)
                assert name((await driver.step("finish")).frame) == f"script.py:{number}"
                stop = await driver.step("next")
            if number == len(lines) - 1:
                break
        await driver.finish_run()
        return found

    options = {"python": str(python)}
    env = {"PYTHONPATH": str(tmp_path)}
    found = run_session(work, script, f"script.py:{begin}", env=env, launch_options=options)
    assert found == {text: text.partition("  # ")[2] for text in lines if "  # " in text}


@pytest.mark.parametrize("version", rows.versions())
def test_step_in_the_middle_of_a_line_enters_its_next_native_call(tmp_path: Path, version: str) -> None:
    """Also where the line was not watched: the first call was met by a breakpoint in C."""
    python = other_interpreter(version)
    script = built(tmp_path, python)
    number = next(at for at, text in enumerate(PROGRAM.splitlines(), 1) if text.startswith("a = minus(1) +"))

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.breakpoints.add("minus")
        assert name((await driver.resume()).frame) == "minus"
        for row in driver.session.breakpoints.all():
            await driver.session.breakpoints.remove(row.id)
        assert name((await driver.step("finish")).frame) == f"script.py:{number}"
        stop = await driver.step("step")
        assert (name(stop.frame), stop.reason) == ("plus", Reason.STEP)
        assert name((await driver.step("finish")).frame) == f"script.py:{number}"
        assert name((await driver.step("step")).frame) == f"script.py:{number + 1}"
        await driver.finish_run()

    options = {"python": str(python)}
    env = {"PYTHONPATH": str(tmp_path)}
    run_session(work, script, f"script.py:{number}", env=env, launch_options=options)
