// Sums over buffers that look at neither strides nor formats: the hunts `stride` and `dtype`.

#include "hunt_module.hpp"

static double add_up(const double *next, Py_ssize_t count) {
    double total = 0;
    while (count-- > 0) {
        total += *next;
        next++;
    }
    return total;
}

static PyObject *total(PyObject *, PyObject *argument) {
    Py_buffer view;
    if (PyObject_GetBuffer(argument, &view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
        return nullptr;
    }
    double sum = add_up(static_cast<const double *>(view.buf), view.shape[0]);
    PyBuffer_Release(&view);
    return PyFloat_FromDouble(sum);
}

static PyMethodDef functions[] = {{"total", total, METH_O, nullptr}, {}};
HUNT_MODULE(hunt_buffers, functions)
