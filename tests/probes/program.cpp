// Functions that are called often, and what may go wrong around them. The last line tells whether all was right.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

struct Item {
    int number;
    long values[4];
    const char *name;
};

extern "C" __attribute__((noipa)) long work(int number, Item *item, const char *text) {
    long values = item ? item->values[1] : 0;
    asm volatile("" : "+r"(values));
    return number + values + text[0];
}

extern "C" __attribute__((noinline, noclone)) int throws(int number) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%d", number);
    if (number % 3 == 0) throw std::runtime_error(buffer);
    return buffer[0];
}

asm(".globl reads\n.type reads,@function\nreads: movq (%rdi), %rax\n addq $1, %rax\n ret\n.size reads,.-reads\n");
extern "C" long reads(const long *from);

asm(".globl tiny\n.type tiny,@function\ntiny: xorl %eax, %eax\n ret\n.size tiny,.-tiny\n");
extern "C" int tiny();

int main(int argc, char **argv) {
    long count = argc > 1 ? std::atol(argv[1]) : 100000;
    const char *mode = argc > 2 ? argv[2] : "";
    Item item = {7, {1, 2, 3, 4}, "name"};
    long wrong = 0, status = 0;
    if (!std::strcmp(mode, "fork") && fork() == 0) {
        for (long i = 0; i < count; i++) wrong |= work(i, &item, "x") - (i + 2 + 'x');
        _exit(wrong ? 1 : 42);
    }
    for (long i = 0; i < count; i++) {
        item.number = i % 10;
        item.values[3] = i;
        Item *passed = !std::strcmp(mode, "null") && i == count / 2 ? nullptr : &item;
        wrong |= work(i, passed, i % 5000 == 4999 ? "yes" : "no") - (i + (passed ? 2 : 0) + (i % 5000 == 4999 ? 'y' : 'n'));
        tiny();
    }
    if (!std::strcmp(mode, "fault")) {
        long there = 3;
        wrong |= reads(&there) - 4;
        reads(nullptr);
    }
    if (!std::strcmp(mode, "dlclose"))
        for (int turn = 0; turn < 2; turn++) {
            void *library = dlopen(argv[3], RTLD_NOW);
            auto twice = reinterpret_cast<long (*)(long)>(dlsym(library, "twice"));
            for (long i = 0; i < count; i++) wrong |= twice(i) - 2 * i;
            dlclose(library);
        }
    if (!std::strcmp(mode, "throw"))
        for (int i = 0; i < 3000; i++) {
            try {
                wrong |= throws(i) == 0 || i % 3 == 0;
            } catch (const std::runtime_error &error) {
                wrong |= std::atoi(error.what()) != i;
            }
        }
    if (!std::strcmp(mode, "fork")) {
        int how = 0;
        wait(&how);
        status = WEXITSTATUS(how);
    }
    std::printf("%s %ld\n", wrong ? "wrong" : "right", status);
    if (!std::strcmp(mode, "exec")) {
        char *const words[] = {argv[0], argv[1], nullptr};
        std::fflush(stdout);
        execv(argv[0], words);
    }
    return wrong != 0;
}
