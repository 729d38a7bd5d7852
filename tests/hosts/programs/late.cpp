// A program that knows nothing of Python until it loads it: libpython is its first argument, a folder its second.
#include <dlfcn.h>

#include <cstdio>
#include <string>

static int work(void *python, const std::string &text) {
    auto run = reinterpret_cast<int (*)(const char *)>(dlsym(python, "PyRun_SimpleString"));
    return run(text.c_str());
}

int main(int, char **arguments) {
    void *python = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
    if (!python) {
        std::puts(dlerror());
        return 1;
    }
    reinterpret_cast<void (*)()>(dlsym(python, "Py_Initialize"))();
    std::string folder = arguments[2];
    return work(python, "import sys; sys.path.insert(0, '" + folder + "'); import adds; print(adds.run(3))");
}
