// What every module of the hunts needs: its table of functions becomes a module.

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define HUNT_MODULE(name, functions)                                                                   \
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, #name, nullptr, -1, functions};            \
    PyMODINIT_FUNC PyInit_##name() { return PyModule_Create(&definition); }
