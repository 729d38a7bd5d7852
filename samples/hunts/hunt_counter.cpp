// Two threads that count without a lock: the hunt `race`. Between reading and writing they meet, as if by bad luck.

#include <atomic>
#include <thread>

#include "hunt_module.hpp"

static long counter = 0;
static std::atomic<int> readers{0};

static void meet(int number) {
    readers++;
    while (readers < 2 * (number + 1)) {
        std::this_thread::yield();
    }
}

static void work(int rounds) {
    for (int round = 0; round < rounds; round++) {
        long seen = counter;
        meet(2 * round);
        counter = seen + 1;
        meet(2 * round + 1);
    }
}

static PyObject *count(PyObject *, PyObject *argument) {
    int rounds = static_cast<int>(PyLong_AsLong(argument));
    Py_BEGIN_ALLOW_THREADS
    std::thread one(work, rounds), other(work, rounds);
    one.join();
    other.join();
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(counter);
}

static PyMethodDef functions[] = {{"count", count, METH_O, nullptr}, {}};
HUNT_MODULE(hunt_counter, functions)
