// A program that starts Python three times, one after the other, and says how many threads each has left behind.
#include <Python.h>

#include <cstdio>
#include <filesystem>
#include <iterator>

static long threads() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

int main() {
    for (int round = 0; round < 3; round++) {
        Py_Initialize();
        PyRun_SimpleString("import threading\nmine = threading.Thread(target=int)\nmine.start()\nmine.join()\n");
        Py_Finalize();
        std::printf("%ld besides the main thread\n", threads() - 1);
    }
    return 0;
}
