// sample_capi: the sample functions and Vec2, bound by hand with the C API.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <new>
#include <system_error>
#include <thread>

#include <pthread.h>

#include "helper.hpp"

// Not in an anonymous namespace: these are the plain `static` functions that most C extensions have.

static PyObject* capi_add(PyObject*, PyObject* args) {
    double a = 0;
    double b = 0;
    if (!PyArg_ParseTuple(args, "dd:add", &a, &b)) {
        return nullptr;
    }
    double sum = a + b;
    return PyFloat_FromDouble(sum);
}

static PyObject* capi_scale(PyObject*, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"value", "factor", nullptr};
    double value = 0;
    double factor = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "dd:scale", const_cast<char**>(names), &value, &factor)) {
        return nullptr;
    }
    double scaled = value * factor;
    return PyFloat_FromDouble(scaled);
}

static PyObject* capi_outer(PyObject*, PyObject* args) {
    double start = 0;
    int steps = 0;
    if (!PyArg_ParseTuple(args, "di:outer", &start, &steps)) {
        return nullptr;
    }
    if (steps < 0) {
        PyErr_SetString(PyExc_ValueError, "steps is negative");
        return nullptr;
    }
    double result = sample::outer(start, steps);
    return PyFloat_FromDouble(result);
}

static PyObject* capi_raise_error(PyObject*, PyObject* message) {
    PyErr_SetObject(PyExc_ValueError, message);
    return nullptr;
}

static PyObject* capi_call_back(PyObject*, PyObject* args) {
    PyObject* callback = nullptr;
    double value = 0;
    if (!PyArg_ParseTuple(args, "Od:call_back", &callback, &value)) {
        return nullptr;
    }
    PyObject* answer = PyObject_CallFunction(callback, "d", value);
    if (answer == nullptr) {
        return nullptr;
    }
    double result = PyFloat_AsDouble(answer);
    Py_DECREF(answer);
    if (result == -1 && PyErr_Occurred()) {
        return nullptr;
    }
    return PyFloat_FromDouble(result + 1);
}

// What a thread that Python did not start does: it takes the GIL, calls, and hands back result or error.
struct ThreadCall {
    PyObject* callback;
    double value;
    PyObject* answer = nullptr;
    PyObject* error_type = nullptr;
    PyObject* error_value = nullptr;
    PyObject* error_traceback = nullptr;

    void run() {
        pthread_setname_np(pthread_self(), "sample-thread");
        PyGILState_STATE state = PyGILState_Ensure();
        answer = PyObject_CallFunction(callback, "d", value);
        if (answer == nullptr) {
            PyErr_Fetch(&error_type, &error_value, &error_traceback);
        }
        PyGILState_Release(state);
    }
};

static PyObject* capi_call_back_from_thread(PyObject*, PyObject* args) {
    ThreadCall call{};
    if (!PyArg_ParseTuple(args, "Od:call_back_from_thread", &call.callback, &call.value)) {
        return nullptr;
    }
    Py_BEGIN_ALLOW_THREADS
    std::thread thread(&ThreadCall::run, &call);
    thread.join();
    Py_END_ALLOW_THREADS
    if (call.answer == nullptr) {
        PyErr_Restore(call.error_type, call.error_value, call.error_traceback);
    }
    return call.answer;
}

static PyObject* byte_or_error(int descriptor, bool release_gil) {
    PyThreadState* saved = release_gil ? PyEval_SaveThread() : nullptr;
    int byte = 0;
    int error = 0;
    try {
        byte = sample::read_byte(descriptor);
    } catch (const std::system_error& failure) {
        error = failure.code().value();
    }
    if (saved != nullptr) {
        PyEval_RestoreThread(saved);
    }
    if (error != 0) {
        errno = error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return PyLong_FromLong(byte);
}

static PyObject* capi_wait_for_byte(PyObject*, PyObject* args) {
    int descriptor = 0;
    if (!PyArg_ParseTuple(args, "i:wait_for_byte", &descriptor)) {
        return nullptr;
    }
    return byte_or_error(descriptor, true);
}

static PyObject* capi_wait_for_byte_with_gil(PyObject*, PyObject* args) {
    int descriptor = 0;
    if (!PyArg_ParseTuple(args, "i:wait_for_byte_with_gil", &descriptor)) {
        return nullptr;
    }
    return byte_or_error(descriptor, false);
}

static PyObject* capi_crash(PyObject*, PyObject* args) {
    int value = 1;
    if (!PyArg_ParseTuple(args, "|i:crash", &value)) {
        return nullptr;
    }
    sample::crash(value);
    Py_RETURN_NONE;
}

struct Vec2Object {
    PyObject_HEAD
    sample::Vec2 value;
};

static PyTypeObject* vec2_type = nullptr;  // owned by the module dictionary

static Vec2Object* as_vec2(PyObject* object) { return reinterpret_cast<Vec2Object*>(object); }

static PyObject* vec2_make(const sample::Vec2& value) {
    PyObject* object = vec2_type->tp_alloc(vec2_type, 0);
    if (object != nullptr) {
        new (&as_vec2(object)->value) sample::Vec2(value);
    }
    return object;
}

static int vec2_init(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"x", "y", nullptr};
    sample::Vec2& value = as_vec2(self)->value;
    return PyArg_ParseTupleAndKeywords(args, kwargs, "dd:Vec2", const_cast<char**>(names), &value.x, &value.y)
               ? 0
               : -1;
}

static void vec2_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject* vec2_length(PyObject* self, PyObject*) {
    double length = as_vec2(self)->value.length();
    return PyFloat_FromDouble(length);
}

static PyObject* vec2_norm(PyObject* self, void*) { return vec2_length(self, nullptr); }

static PyObject* vec2_add(PyObject* left, PyObject* right) {
    if (Py_TYPE(left) != vec2_type || Py_TYPE(right) != vec2_type) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    sample::Vec2 sum = as_vec2(left)->value + as_vec2(right)->value;
    return vec2_make(sum);
}

static PyObject* vec2_multiply(PyObject* left, PyObject* right) {
    if (Py_TYPE(left) != vec2_type) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    double factor = PyFloat_AsDouble(right);
    if (factor == -1 && PyErr_Occurred()) {
        return nullptr;
    }
    return vec2_make(as_vec2(left)->value * factor);
}

static PyObject* vec2_compare(PyObject* left, PyObject* right, int operation) {
    if (Py_TYPE(right) != vec2_type || (operation != Py_EQ && operation != Py_NE)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    bool equal = as_vec2(left)->value == as_vec2(right)->value;
    return PyBool_FromLong(equal == (operation == Py_EQ));
}

static PyObject* vec2_iterate(PyObject* self) {
    const sample::Vec2& value = as_vec2(self)->value;
    PyObject* coordinates = Py_BuildValue("(dd)", value.x, value.y);
    if (coordinates == nullptr) {
        return nullptr;
    }
    PyObject* iterator = PyObject_GetIter(coordinates);
    Py_DECREF(coordinates);
    return iterator;
}

static PyObject* vec2_enter(PyObject* self, PyObject*) {
    Py_INCREF(self);
    return self;
}

static PyObject* vec2_exit(PyObject*, PyObject*) { Py_RETURN_FALSE; }

static PyObject* vec2_repr(PyObject* self) {
    const sample::Vec2& value = as_vec2(self)->value;
    PyObject* coordinates = Py_BuildValue("(dd)", value.x, value.y);
    if (coordinates == nullptr) {
        return nullptr;
    }
    PyObject* text = PyUnicode_FromFormat("Vec2%R", coordinates);
    Py_DECREF(coordinates);
    return text;
}

static PyMemberDef vec2_members[] = {
    {"x", T_DOUBLE, offsetof(Vec2Object, value) + offsetof(sample::Vec2, x), 0, nullptr},
    {"y", T_DOUBLE, offsetof(Vec2Object, value) + offsetof(sample::Vec2, y), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

static PyGetSetDef vec2_properties[] = {
    {"norm", vec2_norm, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

static PyMethodDef vec2_methods[] = {
    {"length", vec2_length, METH_NOARGS, nullptr},
    {"__enter__", vec2_enter, METH_NOARGS, nullptr},
    {"__exit__", vec2_exit, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

static PyType_Slot vec2_slots[] = {
    {Py_tp_init, reinterpret_cast<void*>(vec2_init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(vec2_dealloc)},
    {Py_tp_members, vec2_members},
    {Py_tp_getset, vec2_properties},
    {Py_tp_methods, vec2_methods},
    {Py_tp_richcompare, reinterpret_cast<void*>(vec2_compare)},
    {Py_tp_iter, reinterpret_cast<void*>(vec2_iterate)},
    {Py_tp_repr, reinterpret_cast<void*>(vec2_repr)},
    {Py_nb_add, reinterpret_cast<void*>(vec2_add)},
    {Py_nb_multiply, reinterpret_cast<void*>(vec2_multiply)},
    {0, nullptr},
};

static PyType_Spec vec2_spec = {"sample_capi.Vec2", sizeof(Vec2Object), 0, Py_TPFLAGS_DEFAULT, vec2_slots};

static PyMethodDef functions[] = {
    {"add", capi_add, METH_VARARGS, "add(a, b)"},
    {"scale", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(capi_scale)),
     METH_VARARGS | METH_KEYWORDS, "scale(value, factor)"},
    {"outer", capi_outer, METH_VARARGS, "outer(start, steps)"},
    {"raise_error", capi_raise_error, METH_O, "raise_error(message)"},
    {"call_back", capi_call_back, METH_VARARGS, "call_back(callback, value)"},
    {"call_back_from_thread", capi_call_back_from_thread, METH_VARARGS, "call_back_from_thread(callback, value)"},
    {"wait_for_byte", capi_wait_for_byte, METH_VARARGS, "Blocks without the GIL"},
    {"wait_for_byte_with_gil", capi_wait_for_byte_with_gil, METH_VARARGS, "Blocks with the GIL held"},
    {"crash", capi_crash, METH_VARARGS, "crash(value=1)"},
    {nullptr, nullptr, 0, nullptr},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "sample_capi", "Sample functions bound with the C API", -1, functions,
    nullptr, nullptr, nullptr, nullptr,
};

PyMODINIT_FUNC PyInit_sample_capi() {
    PyObject* module = PyModule_Create(&definition);
    if (module == nullptr) {
        return nullptr;
    }
    vec2_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&vec2_spec));
    if (vec2_type == nullptr || PyModule_AddObject(module, "Vec2", reinterpret_cast<PyObject*>(vec2_type)) < 0) {
        Py_XDECREF(reinterpret_cast<PyObject*>(vec2_type));
        Py_DECREF(module);
        return nullptr;
    }
    return module;
}
