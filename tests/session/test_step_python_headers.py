"""Steps in optimised C code among lines of Python's headers, which debug info does not tell to be inlined."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from dualdbg.model import NativeFrame
from tests import support
from tests.session.driver import Driver, run_session

# A step out of a function ends where a statement begins in the one that called: GCC 16 leaves none but that of a call.
# GCC leaves of PyUnicode_CheckExact one comparison, with a line of object.h and no block of its own.
SOURCE = """\
#include <Python.h>

typedef struct {
    PyObject *list;
    PyObject *item;
    char is_text;
} Joined;

static __attribute__((noinline)) int add(Joined *joined, PyObject *item) {
    PyObject *added;
    int status;

    if (joined->is_text) {
        if (PyUnicode_CheckExact(item)) {
            added = item;
            Py_INCREF(added);
        } else {
            added = PyUnicode_FromObject(item);
            if (!added)
                return -1;
        }
    } else {
        if (PyBytes_CheckExact(item)) {
            added = item;
            Py_INCREF(added);
        } else {
            added = PyBytes_FromObject(item);
            if (!added)
                return -2;
        }
    }
    if (joined->list) {
        status = PyList_Append(joined->list, added);
        Py_DECREF(added);
        return status;
    }
    joined->item = added;
    return 0;
}

static PyObject *join(PyObject *self, PyObject *item) {
    Joined joined = {NULL, NULL, 1};
    if (add(&joined, item) < 0)
        return NULL;
    PyErr_Clear();
    return joined.item;
}

static PyMethodDef methods[] = {{"join", join, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "headers", NULL, -1, methods};
PyMODINIT_FUNC PyInit_headers(void) { return PyModule_Create(&module); }
"""
LINE = {text.strip(): number for number, text in enumerate(SOURCE.splitlines(), 1)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = support.require(shutil.which("gcc"), "a C compiler")
    headers = Path(sysconfig.get_path("include"))
    support.require((headers / "Python.h").is_file() or None, "Python.h")
    folder = tmp_path_factory.mktemp("headers")
    (folder / "headers.c").write_text(SOURCE)
    options = ["-g", "-O2", "-shared", "-fPIC", f"-I{headers}", "-o", folder / "headers.so"]
    subprocess.run([compiler, *options, folder / "headers.c"], check=True)
    (folder / "program.py").write_text("import headers\nheaders.join('x')\n")
    return folder


@pytest.mark.parametrize("kind", ["next", "step"])
def test_a_step_stays_in_the_function(folder: Path, kind: str) -> None:
    async def work(driver: Driver) -> None:
        lines = []
        stop = await driver.stop()
        while isinstance(stop.frame, NativeFrame) and stop.frame.function == "add":
            assert stop.frame.file is not None and stop.frame.file.endswith("headers.c")
            lines.append(stop.frame.line)
            stop = await driver.step(kind)
        assert lines[-2:] == [LINE["joined->item = added;"], LINE["return 0;"]]
        assert isinstance(stop.frame, NativeFrame) and stop.frame.function == "join"
        await driver.finish_run()

    run_session(work, folder / "program.py", "::add", env={"PYTHONPATH": str(folder)})
