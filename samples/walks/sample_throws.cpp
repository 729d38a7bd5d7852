// sample_throws: exceptions of C++ and their handlers, and a callback from the C library.
#include <Python.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#define NOINLINE __attribute__((noinline))

namespace {

NOINLINE int compare(const void* one, const void* other) {
    int difference = *static_cast<const int*>(one) - *static_cast<const int*>(other);
    return difference;
}

NOINLINE void fail(int code) {
    if (code != 0) {
        throw std::runtime_error("failed");
    }
}

NOINLINE int caught(int code) {
    int seen = 0;
    try {
        std::string kept("destroyed before the handler begins");
        fail(code);
        seen = 1;
    } catch (const std::runtime_error& error) {
        seen = 2;
    }
    return seen;
}

NOINLINE int caught_again(int code) {
    int seen = 0;
    try {
        try {
            fail(code);
        } catch (...) {
            seen = 3;
            throw;
        }
    } catch (std::runtime_error error) {
        seen += 4;
    }
    return seen;
}

NOINLINE int deep(int depth) {
    std::string kept("destroyed on the way");
    if (depth == 0) {
        fail(1);
    }
    return deep(depth - 1) + 1;
}

NOINLINE int caught_from_far(int depth) {
    try {
        return deep(depth);
    } catch (const std::exception& error) {
        return -1;
    }
}

NOINLINE int caught_within(int code) {
    int seen = caught(code);
    return seen;
}

NOINLINE void end(int code) noexcept {
    fail(code);
}

PyObject* run(PyObject*, PyObject* code) {
    int wanted = static_cast<int>(PyLong_AsLong(code));
    int numbers[3] = {3, 1, 2};
    std::qsort(numbers, 3, sizeof(int), compare);
    int seen = caught(wanted);
    seen += caught_again(wanted);
    seen += caught_from_far(2);
    seen += caught_within(wanted);
    return PyLong_FromLong(seen);
}

PyObject* terminate(PyObject*, PyObject* code) {
    end(static_cast<int>(PyLong_AsLong(code)));
    return PyLong_FromLong(0);
}

PyMethodDef methods[] = {
    {"run", run, METH_O, "Throws and catches where the argument is not 0."},
    {"terminate", terminate, METH_O, "Ends the process where the argument is not 0."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "sample_throws", nullptr, -1, methods};

}  // namespace

PyMODINIT_FUNC PyInit_sample_throws() { return PyModule_Create(&module); }
