// Functions that are chosen for the processor when the library is loaded, in two ways; and a module to call them.
#include <Python.h>

extern "C" {
__attribute__((target_clones("avx2", "default"))) int sum_up(const int *values, int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i)
        sum += values[i];
    return sum;
}

static int slow(int value) {
    return value + 1;
}

static int fast(int value) {
    return value + 2;
}

static int (*pick(void))(int) {
    return __builtin_cpu_supports("sse2") ? fast : slow;
}

int picked(int value) __attribute__((ifunc("pick")));
}

static PyObject *indirect_run(PyObject *, PyObject *) {
    int values[] = {1, 2, 3, 4};
    return PyLong_FromLong(sum_up(values, 4) + picked(3));
}

static PyMethodDef methods[] = {{"run", indirect_run, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "indirect", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_indirect() {
    return PyModule_Create(&module);
}
