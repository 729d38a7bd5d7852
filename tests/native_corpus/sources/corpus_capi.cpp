// The corpus by the plain C API.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "corpus.hpp"

static PyObject *capi_bark(PyObject *, PyObject *args) {
    const char *name;
    int times;
    if (!PyArg_ParseTuple(args, "si", &name, &times))
        return nullptr;
    try {
        return PyUnicode_FromString(corpus::bark(name, times).c_str());
    } catch (const std::exception &error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
        return nullptr;
    }
}

static PyObject *capi_run(PyObject *, PyObject *arg) {
    return PyLong_FromLong(corpus::run(static_cast<int>(PyLong_AsLong(arg))));
}

static PyObject *capi_counts(PyObject *, PyObject *) {
    PyObject *counts = PyDict_New();
    for (const corpus::Counter &one : corpus::counters) {
        PyObject *calls = PyLong_FromLong(one.calls);
        PyDict_SetItemString(counts, one.name, calls);
        Py_DECREF(calls);
    }
    return counts;
}

static PyMethodDef methods[] = {
    {"bark", capi_bark, METH_VARARGS, nullptr},
    {"run", capi_run, METH_O, nullptr},
    {"counts", capi_counts, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, "corpus_capi", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_corpus_capi() {
    return PyModule_Create(&module);
}
