// A mutex that is held while Python is called, and waited for while the GIL is held: the hunt `deadlock`.

#include <atomic>
#include <mutex>
#include <thread>

#include "hunt_module.hpp"

static std::mutex table_lock;
static std::atomic<bool> visiting{false};
static std::atomic<bool> counting{false};

static void visit_with(PyObject *callback) {
    std::lock_guard<std::mutex> held(table_lock);
    visiting = true;
    while (!counting) {
        std::this_thread::yield();
    }
    PyGILState_STATE state = PyGILState_Ensure();
    Py_XDECREF(PyObject_CallNoArgs(callback));
    PyGILState_Release(state);
}

static PyObject *visit(PyObject *, PyObject *callback) {
    Py_BEGIN_ALLOW_THREADS
    visit_with(callback);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *is_visiting(PyObject *, PyObject *) { return PyBool_FromLong(visiting); }

static PyObject *count(PyObject *, PyObject *) {
    counting = true;
    std::lock_guard<std::mutex> held(table_lock);
    return PyLong_FromLong(3);
}

static PyMethodDef functions[] = {{"visit", visit, METH_O, nullptr},
                                  {"is_visiting", is_visiting, METH_NOARGS, nullptr},
                                  {"count", count, METH_NOARGS, nullptr},
                                  {}};
HUNT_MODULE(hunt_locks, functions)
