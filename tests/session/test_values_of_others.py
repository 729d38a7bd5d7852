"""Python values of C code that are more than they derive from, or of which a part cannot be read, from memory."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from dualdbg.errors import EvaluationError
from dualdbg.model import Language
from tests import support
from tests.session.driver import Driver, run_session

STAMPS = """\
#include <Python.h>
#include <datetime.h>
typedef struct { PyDateTime_DateTime whole; long long nanoseconds; } Stamp;
static PyType_Slot slots[] = {{0, NULL}};
static PyType_Spec spec = {"stamps.Stamp", sizeof(Stamp), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
static PyObject *stop(PyObject *self, PyObject *none) { Py_RETURN_NONE; }
static PyMethodDef methods[] = {{"stop", stop, METH_NOARGS, ""}, {0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "stamps", 0, -1, methods};
PyMODINIT_FUNC PyInit_stamps(void) {
    PyObject *module = PyModule_Create(&definition);
    PyDateTime_IMPORT;
    PyObject *bases = PyTuple_Pack(1, PyDateTimeAPI->DateTimeType);
    PyModule_AddObject(module, "Stamp", PyType_FromSpecWithBases(&spec, bases));
    return module;
}
"""
SCRIPT = """\
import datetime, sys
sys.path.insert(0, {folder!r})
import numpy, stamps, torch
class OfC(stamps.Stamp): pass
class OfPython(datetime.datetime): pass
def work():
    of_c, derived, of_python = stamps.Stamp(2020, 1, 2), OfC(2020, 1, 2), OfPython(2020, 1, 2)
    wide = numpy.lib.stride_tricks.as_strided(numpy.zeros(16, numpy.float32), (4, 4), (4 << 40, 4))
    tensor = torch.from_numpy(wide)
    stamps.stop()
work()
"""


@pytest.mark.torch
def test_what_is_not_known_is_not_shown_as_something_else(tmp_path: Path) -> None:
    compiler = support.require(shutil.which("gcc"), "a C compiler")
    support.require(importlib.util.find_spec("torch"), "PyTorch")
    source, script = tmp_path / "stamps.c", tmp_path / "program.py"
    source.write_text(STAMPS)
    script.write_text(SCRIPT.format(folder=str(tmp_path)))
    include = "-I" + sysconfig.get_path("include")
    module = tmp_path / "stamps.so"
    subprocess.run([compiler, "-g", "-w", "-shared", "-fPIC", include, source, "-o", module], check=True)

    async def work(driver: Driver) -> dict[str, str]:
        stop = await driver.stop()
        frame = next(one for one in (await driver.stack()).visible() if one.function == "work")
        rows = await driver.session.inspector.variables(stop.thread.tid, frame)
        return {row.name: row.value for row in rows}

    found = run_session(work, script, f"{source.name}:6")
    assert found["of_c"].startswith("<stamps.Stamp object at 0x")
    assert found["derived"].startswith("<__main__.OfC object at 0x")
    assert found["of_python"] == "OfPython(2020, 1, 2, 0, 0)"
    assert found["wide"].startswith("array(<unreadable 0x")
    assert "shape=(4, 4), strides=(4398046511104, 4), dtype=float32" in " ".join(found["wide"].split())
    assert found["tensor"].startswith("tensor(<unreadable 0x")
    assert "size=(4, 4), stride=(1099511627776, 1), dtype=torch.float32" in " ".join(found["tensor"].split())


# The mangled name of an instance of a template says what it returns, and const that it is a member.
HIDDEN = """\
struct Hidden { long number = 7; template <class T> __attribute__((noinline)) long get(const T *, long) const; };
template <class T> long Hidden::get(const T *more, long last) const { asm volatile(""); return number + *more + last; }
extern "C" long start() { static long more = 1L << 40; static Hidden hidden; return hidden.get(&more, 3); }
"""


def test_what_a_pointer_leads_to_is_not_taken_for_an_int(tmp_path: Path) -> None:
    compiler = support.require(shutil.which("g++"), "a C++ compiler")
    source, library, script = tmp_path / "hidden.cpp", tmp_path / "libhidden.so", tmp_path / "program.py"
    source.write_text(HIDDEN)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    script.write_text(f"import ctypes\nctypes.CDLL({str(library)!r}).start()\n")

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        frame = (await driver.stack()).visible()[0]

        async def value(text: str) -> str:
            ask = driver.session.inspector.evaluate
            return (await ask(text, stop.thread.tid, frame, Language.NATIVE)).value

        with pytest.raises(EvaluationError, match="no debug info has the type that this points to"):
            await value("*this")
        assert await value("*arg1") == str(1 << 40)
        assert await value("arg2 + 1") == "4"

    run_session(work, script, "Hidden::get")
