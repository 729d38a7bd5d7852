// sample_locks: a mutex that C++ threads and Python both use, to show what goes wrong (samples/hangs).
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

#include "helper.hpp"

namespace {

std::mutex shared_mutex;

pid_t thread_id() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// The state letter of a thread of this process (proc(5), /proc/pid/task/tid/stat): R, S, D, ...
char thread_state(pid_t tid) {
    std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
    std::string text;
    std::getline(file, text);
    // The name before the state is in parentheses, and may hold a parenthesis itself.
    std::size_t end_of_name = text.rfind(')');
    return end_of_name == std::string::npos ? '?' : text.at(end_of_name + 2);
}

void write_line(int descriptor, const std::string& line) {
    std::size_t done = 0;
    while (done < line.size()) {
        ssize_t count = ::write(descriptor, line.data() + done, line.size() - done);
        if (count <= 0) {
            return;  // nobody listens: the hang goes on without its announcement
        }
        done += static_cast<std::size_t>(count);
    }
}

// Calls Python for an item; the caller holds shared_mutex, and comes here without the GIL.
double call_with_gil(PyObject* callback, double item) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject* answer = PyObject_CallFunction(callback, "d", item);
    double result = answer == nullptr ? 0 : PyFloat_AsDouble(answer);
    Py_XDECREF(answer);
    PyErr_Clear();
    PyGILState_Release(state);
    return result;
}

// Once both threads sleep, nothing can wake them: each waits for what the other has.
void announce_deadlock(std::atomic<bool>& about_to_lock, pid_t waiter, pid_t worker, int descriptor,
                       const std::string& line) {
    pthread_setname_np(pthread_self(), "announcer");
    while (!about_to_lock || thread_state(waiter) != 'S' || thread_state(worker) != 'S') {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    write_line(descriptor, line);
}

// The bug to be found: the worker holds the mutex and wants the GIL, the caller holds the GIL and wants
// the mutex.
double process_item(PyObject* callback, double item, int ready_descriptor, const std::string& ready_line) {
    double result = 0;
    std::atomic<bool> about_to_lock{false};
    std::promise<pid_t> worker_has_mutex;

    std::thread worker([&] {
        pthread_setname_np(pthread_self(), "item-worker");
        std::lock_guard<std::mutex> lock(shared_mutex);
        worker_has_mutex.set_value(thread_id());
        result = call_with_gil(callback, item);
    });
    pid_t worker_tid = worker_has_mutex.get_future().get();
    std::thread announcer(announce_deadlock, std::ref(about_to_lock), thread_id(), worker_tid, ready_descriptor,
                          ready_line);
    about_to_lock = true;
    double copy = 0;
    {
        std::lock_guard<std::mutex> lock(shared_mutex);
        copy = result;
    }
    announcer.join();
    worker.join();
    return copy;
}

// Keeps the mutex until the descriptor has a byte, or ends.
void hold_mutex_until_byte(int descriptor, std::promise<void> held) {
    pthread_setname_np(pthread_self(), "mutex-holder");
    std::lock_guard<std::mutex> lock(shared_mutex);
    held.set_value();
    sample::read_byte(descriptor);
}

double locked_add(double a, double b) {
    std::lock_guard<std::mutex> lock(shared_mutex);
    return a + b;
}

PyObject* py_process_item(PyObject*, PyObject* args) {
    PyObject* callback = nullptr;
    double item = 0;
    int ready_descriptor = 0;
    const char* ready_line = nullptr;
    if (!PyArg_ParseTuple(args, "Odis:process_item", &callback, &item, &ready_descriptor, &ready_line)) {
        return nullptr;
    }
    return PyFloat_FromDouble(process_item(callback, item, ready_descriptor, ready_line));
}

PyObject* py_hold_mutex(PyObject*, PyObject* args) {
    int descriptor = 0;
    if (!PyArg_ParseTuple(args, "i:hold_mutex", &descriptor)) {
        return nullptr;
    }
    std::promise<void> held;
    std::future<void> is_held = held.get_future();
    std::thread(hold_mutex_until_byte, descriptor, std::move(held)).detach();
    is_held.get();
    Py_RETURN_NONE;
}

PyObject* py_locked_add(PyObject*, PyObject* args) {
    double a = 0;
    double b = 0;
    if (!PyArg_ParseTuple(args, "dd:locked_add", &a, &b)) {
        return nullptr;
    }
    double sum = 0;
    Py_BEGIN_ALLOW_THREADS
    sum = locked_add(a, b);
    Py_END_ALLOW_THREADS
    return PyFloat_FromDouble(sum);
}

PyMethodDef functions[] = {
    {"process_item", py_process_item, METH_VARARGS,
     "process_item(callback, item, ready_descriptor, ready_line): deadlocks, and writes the line when it has"},
    {"hold_mutex", py_hold_mutex, METH_VARARGS,
     "hold_mutex(descriptor): a C++ thread keeps the mutex until the descriptor has a byte, or ends"},
    {"locked_add", py_locked_add, METH_VARARGS, "locked_add(a, b): adds under the mutex, without the GIL"},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "sample_locks", "A mutex that C++ and Python share", -1, functions,
    nullptr, nullptr, nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit_sample_locks() { return PyModule_Create(&definition); }
