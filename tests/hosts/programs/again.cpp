// A program that starts Python three times, one after the other, and says how many threads each has left behind.
#include <Python.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iterator>

// With SEEN_FIRST pydevd's own thread sees that the end has begun, and takes its debugger apart, before an exit handler does.
#ifdef SEEN_FIRST
static const char *const last =
    "import atexit, sys, time\n"
    "def wait():\n"
    "    constants = sys.modules.get('_pydevd_bundle.pydevd_constants')\n"
    "    debugger = constants and constants.get_global_debugger()\n"
    "    while debugger and not debugger.pydb_disposed: time.sleep(0.001)\n"
    "atexit.register(wait)\n";
#else
static const char *const last = "";
#endif

static long threads() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

int main() {
    for (int round = 0; round < 3; round++) {
        Py_Initialize();
        PyRun_SimpleString("import threading\nmine = threading.Thread(target=int)\nmine.start()\nmine.join()\n");
        PyRun_SimpleString(last);
        Py_Finalize();
        // One that has been joined may still be about to end.
        for (int tries = 0; threads() > 1 && tries < 1000; tries++) usleep(10000);
        std::printf("%ld besides the main thread\n", threads() - 1);
    }
    return 0;
}
