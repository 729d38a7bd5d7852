// A look-up that gives away one reference too many: the hunt `leak`.

#include "hunt_module.hpp"

static PyObject *get(PyObject *, PyObject *arguments) {
    PyObject *table = nullptr, *key = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &table, &key)) {
        return nullptr;
    }
    PyObject *found = PyDict_GetItem(table, key);
    if (found == nullptr) {
        Py_RETURN_NONE;
    }
    Py_INCREF(found);
    return Py_BuildValue("O", found);
}

static PyObject *has(PyObject *, PyObject *arguments) {
    PyObject *table = nullptr, *key = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &table, &key)) {
        return nullptr;
    }
    return PyBool_FromLong(PyDict_Contains(table, key) == 1);
}

static PyMethodDef functions[] = {
    {"get", get, METH_VARARGS, nullptr}, {"has", has, METH_VARARGS, nullptr}, {}};
HUNT_MODULE(hunt_table, functions)
