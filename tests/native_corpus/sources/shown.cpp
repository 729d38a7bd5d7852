// Lines and functions that begin with what was inlined there: of the C++ library, and of the author's own.
#include <Python.h>

#include "shown.hpp"

#include <functional>
#include <stdexcept>

std::atomic<long> shown_calls;

#define NOINLINE __attribute__((noinline))

struct Counted {
    int value;
    NOINLINE virtual int get() const { shown_calls.fetch_add(1); return value; }
    virtual ~Counted() = default;
};

NOINLINE static int fail_if_odd(int n) {
    if (n % 2)
        throw std::out_of_range("odd");
    return n;
}

static inline int or_else(int n, int other) {
    try {
        return fail_if_odd(n);
    } catch (const std::out_of_range &) {
        other += 1;
        shown_calls.fetch_add(1);
    }
    return other;
}

NOINLINE static int with_handler(int n) {
    int found = n;
    found += or_else(n, 5);
    found *= 3;
    return found;
}

NOINLINE static int state_of(const char *text) {
    int state = 0;
    for (; *text; ++text) {
        switch (*text) {
        case 'a':
            state += 1;
            break;
        case 'b':
            state *= 2;
            break;
        default:
            state -= 1;
        }
    }
    return state;
}

NOINLINE static long applied(const std::function<long(int)> &function, int n) {
    return function(n) + n;
}

NOINLINE static int bags(int n) {
    Bag one, other;
    one.items = {n, 2, 3};
    other = one;
    one.clear();
    return static_cast<int>(one.weight(2) + other.weight(n) + other.text().size());
}

static PyObject *run(PyObject *, PyObject *callable) {
    long sum = 0;
    for (int i = 0; i < 2; ++i) {
        sum += bags(i);
        sum += with_handler(i);
        sum += state_of(i ? "abb" : "bac");
        sum += applied([callable](int n) {
            PyObject *number = PyObject_CallFunction(callable, "i", n);
            if (number == nullptr)
                throw std::runtime_error("it failed");
            long value = PyLong_AsLong(number);
            Py_DECREF(number);
            return value;
        }, i);
        sum += Counted().get();
    }
    return PyLong_FromLong(sum);
}

static PyMethodDef methods[] = {{"run", run, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "shown", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_shown() {
    return PyModule_Create(&module);
}
