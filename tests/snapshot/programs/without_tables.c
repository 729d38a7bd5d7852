/* Functions of all forms, each of which comes to getppid. Compiled without unwind tables they have to be left by their
   code alone; compiled with them they say what is right. */

#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone, noipa))

static volatile int sink;
static jmp_buf back;

static APART int reach(int depth) { return depth + (getppid() == 0); }

APART int leaf(int a) { return a * 3 + 1; }

APART int pushes(int a, int b, int c, int d, int e, int f) {
    int all = reach(a) + leaf(b);
    all += reach(c) * d;
    return all + e * leaf(f) + a + b + c;
}

APART int large_frame(int a) {
    char room[9000];
    memset(room, a, sizeof room);
    sink = room[a & 1023];
    return reach(a) + room[a & 511];
}

APART int early_exit(int a, char *text) {
    if (a < 0)
        return leaf(a);
    if (text == NULL)
        return reach(a) + 1;
    sink += (int)strlen(text);
    return reach(a) + sink + leaf(a);
}

APART int tail(int a) {
    sink = leaf(a);
    return reach(a);
}

APART int on_the_stack(int count) {
    char *room = alloca((size_t)count * 16 + 1);
    memset(room, 1, (size_t)count * 16 + 1);
    return reach(count) + room[count];
}

APART int of_variable_size(int count) {
    int all = 0;
    for (int i = 1; i < count; i++) {
        int room[i * 4];
        memset(room, i, sizeof room);
        all += reach(room[i]);
    }
    return all;
}

APART int aligned(int a) {
    char room[256] __attribute__((aligned(64)));
    memset(room, a, sizeof room);
    sink = room[a & 255];
    return reach(a) + room[a & 127];
}

APART int chosen(int a, int b) {
    switch (a) {
    case 0: return reach(b);
    case 1: return leaf(b) + reach(b + 1);
    case 2: sink = b; return reach(b) * 2;
    case 3: return early_exit(b, NULL) + reach(b);
    case 4: sink += leaf(b); return reach(sink);
    case 5: return tail(b) - reach(b) * 7;
    default: return b;
    }
}

/* Behind the call stands the next function, without padding where it happens to be aligned. */
static APART __attribute__((noreturn)) void throws(int a) {
    sink = reach(a);
    longjmp(back, 1);
}

APART int may_not_return(int a, int b) {
    if (a > 100)
        throws(b);
    return reach(a) + leaf(b);
}

APART int comes_back(int a) {
    if (setjmp(back) == 0)
        return may_not_return(a, a);
    return reach(a);
}

APART int recurses(int depth, int a) {
    if (depth == 0)
        return reach(a);
    return recurses(depth - 1, a + leaf(depth)) + depth;
}

APART int variadic(int count, ...) {
    va_list rest;
    va_start(rest, count);
    double all = reach(count);
    for (int i = 0; i < count; i++)
        all += va_arg(rest, double);
    va_end(rest);
    return (int)all;
}

/* Their addresses are only taken, in data and in code. */
static APART int compares(const void *a, const void *b) {
    return reach(*(const int *)a) - *(const int *)b;
}

static APART int first(int a) { return reach(a) + leaf(a); }
static APART int second(int a) { return tail(a) + reach(a); }
static int (*const table[])(int) = {first, second};

APART int by_pointer(int a) {
    int values[] = {3, 2};
    qsort(values, 2, sizeof *values, compares);
    return table[a & 1](a) + values[0];
}

int all(void) {
    return pushes(1, 2, 3, 4, 5, 6) + large_frame(7) + early_exit(8, NULL) + early_exit(8, "text") + tail(9) +
           on_the_stack(10) + of_variable_size(4) + aligned(11) + chosen(0, 1) + chosen(1, 1) + chosen(2, 1) +
           chosen(3, 1) + chosen(4, 1) + chosen(5, 1) + comes_back(12) + comes_back(120) + recurses(5, 1) +
           variadic(2, 1.0, 2.0) + by_pointer(0) + by_pointer(1);
}
