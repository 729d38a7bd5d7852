// A callback whose failure nobody looks at: the hunt `callback`.

#include "hunt_module.hpp"

static double weight(PyObject *key, PyObject *item) {
    PyObject *result = PyObject_CallOneArg(key, item);
    double value = PyFloat_AS_DOUBLE(result);
    Py_DECREF(result);
    return value;
}

static PyObject *heaviest(PyObject *, PyObject *arguments) {
    PyObject *items = nullptr, *key = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &items, &key)) {
        return nullptr;
    }
    double most = 0;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(items); at++) {
        double one = weight(key, PyList_GET_ITEM(items, at));
        most = one > most ? one : most;
    }
    return PyFloat_FromDouble(most);
}

static PyMethodDef functions[] = {{"heaviest", heaviest, METH_VARARGS, nullptr}, {}};
HUNT_MODULE(hunt_callback, functions)
