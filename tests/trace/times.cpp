// Eight threads call functions that return, throw, jump away, call themselves, end by a tail call. Each line tells how
// often a function returned by itself, and, in nanoseconds, how long its calls took at least and at most. With a second
// argument libraries come and go meanwhile, so many times.
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <stdexcept>
#include <thread>
#include <vector>

#define PLAIN extern "C" __attribute__((noinline, noclone, noipa))

static long now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

struct Own {
    const char *name;
    std::atomic<long> returned{0}, within{0}, around{0};
};
static Own owns[] = {{"spin"}, {"passes"}, {"throws"}, {"jumps"}, {"climbs"}, {"ends_in_spin"}, {"chooses"}, {"measured"}};
static std::atomic<long> wrong{0};

PLAIN long spin(long number) {
    volatile long sum = 0;
    for (long at = 0; at < number; at++) sum = sum + at;
    owns[0].returned++;
    return sum;
}

PLAIN long measured(long number) {
    long began = now();
    volatile long sum = 0;
    for (long at = 0; at < number; at++) sum = sum + at;
    owns[7].returned++;
    owns[7].within += now() - began;
    return sum;
}

PLAIN long throws(long number) {
    long sum = spin(50);
    if (number % 3 == 0) throw std::runtime_error("three");
    owns[2].returned++;
    return sum + number;
}

struct Guard {
    long &count;
    ~Guard() { count++; }
};

PLAIN long passes(long number, long &cleaned) {
    Guard guard{cleaned};
    long sum = throws(number);
    owns[1].returned++;
    return sum * 2;
}

PLAIN long jumps(long number, jmp_buf *where) {
    long sum = spin(20);
    if (number % 5 == 0) longjmp(*where, 1);
    owns[3].returned++;
    return sum;
}

PLAIN long climbs(long depth) {
    long sum = depth == 0 ? spin(10) : climbs(depth - 1) * 3 + depth;
    owns[4].returned++;
    return sum;
}

PLAIN long ends_in_spin(long number) {
    owns[5].returned++;
    return spin(number + 30);
}

PLAIN long chooses(long number, long a, long b) {
    owns[6].returned++;
    switch (number % 7) {
    case 0: return a;
    case 1: return a * b + spin(5);
    case 2: return a - spin(number % 11) * b;
    case 3: return b << (a & 7);
    case 4: return spin(a & 15);
    case 5: return a ^ b;
    default: return -b;
    }
}

static void work(long count) {
    long cleaned = 0, thrown = 0, jumped = 0;
    for (volatile long at = 0; at < count; at = at + 1) {
        long began = now();
        long sum = measured(at % 100 * 20);
        owns[7].around += now() - began;
        try {
            sum += passes(at, cleaned);
        } catch (const std::runtime_error &) {
            thrown++;
        }
        jmp_buf where;
        if (setjmp(where) == 0)
            sum += jumps(at, &where);
        else
            jumped++;
        climbs(at % 13);
        ends_in_spin(at % 10);
        chooses(at, sum, at);
    }
    if (cleaned != count || thrown != (count + 2) / 3) wrong++;
}

int main(int argc, char **argv) {
    std::vector<std::thread> all;
    long count = atol(argv[1]);
    for (int at = 0; at < 8; at++) all.emplace_back(work, count);
    for (int at = 0; argc > 2 && at < atoi(argv[2]); at++) {
        void *library = dlopen("libresolv.so.2", RTLD_NOW);
        if (library) dlclose(library);
    }
    for (auto &one : all) one.join();
    for (auto &own : owns)
        printf("%s %ld %ld %ld\n", own.name, own.returned.load(), own.within.load(), own.around.load());
    return wrong ? 1 : 7;
}
