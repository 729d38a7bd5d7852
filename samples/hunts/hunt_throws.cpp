// A C++ exception that nobody catches before it reaches the interpreter: the hunt `exception`.

#include <stdexcept>
#include <vector>

#include "hunt_module.hpp"

static int checked(const std::vector<int> &row, std::size_t index) {
    if (index >= row.size()) {
        throw std::out_of_range("no such column");
    }
    return row[index];
}

static PyObject *cell(PyObject *, PyObject *argument) {
    static const std::vector<int> row = {10, 20, 30};
    return PyLong_FromLong(checked(row, PyLong_AsSize_t(argument)));
}

static PyMethodDef functions[] = {{"cell", cell, METH_O, nullptr}, {}};
HUNT_MODULE(hunt_throws, functions)
