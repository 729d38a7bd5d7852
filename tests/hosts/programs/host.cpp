// A program with Python in it: C++ calls Python, and Python calls back. Its arguments: a folder, and a module there.
#include <Python.h>

#include <cstdio>

static PyObject *twice(PyObject *, PyObject *number) {
    long value = PyLong_AsLong(number);
    return PyLong_FromLong(2 * value);
}

static PyMethodDef methods[] = {{"twice", twice, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "host", nullptr, -1, methods,
                                 nullptr, nullptr, nullptr, nullptr};
static PyObject *make_host() { return PyModule_Create(&definition); }

static long work(const char *folder, const char *name) {
    PyObject *first = PyUnicode_FromString(folder);
    PyList_Insert(PySys_GetObject("path"), 0, first);
    PyObject *module = PyImport_ImportModule(name);
    PyObject *result = module ? PyObject_CallMethod(module, "run", "i", 20) : nullptr;
    if (!result) {
        PyErr_Print();
        return -1;
    }
    return PyLong_AsLong(result);
}

static void start() {
#ifdef ISOLATED
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    Py_InitializeFromConfig(&config);
#else
    Py_Initialize();
#endif
}

int main(int, char **arguments) {
    PyImport_AppendInittab("host", make_host);
    start();
    std::printf("result %ld\n", work(arguments[1], arguments[2]));
    std::fflush(stdout);
    Py_Finalize();
    std::puts("Python is over");
    return 0;
}
