// Eight threads call functions a number of times. The last line tells how often each was called, and whether all results
// were right. With a second argument it waits for a line on stdin before and after; with a third one each thread sleeps
// now and then.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long calls, even;
static long count, sleeps;

__attribute__((noinline, noclone)) long work(long number, const char *text, unsigned char small) {
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return number * 31 + text[0] + small;
}

__attribute__((noinline, noclone)) long on_even(long number) {
    atomic_fetch_add_explicit(&even, 1, memory_order_relaxed);
    return number ^ 0x5555;
}

__attribute__((noinline, noclone)) void never(const char *text) { puts(text); }

asm(".globl tiny\n.type tiny,@function\ntiny: xorl %eax, %eax\n ret\n.size tiny,.-tiny\n");
extern int tiny(void);

static void *run(void *argument) {
    unsigned long sum = 0, right = 0;
    for (long i = 0; i < count; i++) {
        sum = sum * 7 + work(i, "x", i & 0xff) + tiny();
        right = right * 7 + i * 31 + 'x' + (i & 0xff);
        if (sleeps && i % 1000 == 0) usleep(10000);
        if (i % 2 == 0) {
            sum = sum * 3 + on_even(i);
            right = right * 3 + (i ^ 0x5555);
        }
    }
    if (sum != right) never("a wrong result");
    return (void *)(sum - right);
}

int main(int argc, char **argv) {
    pthread_t all[8];
    long wrong = 0;
    count = argc > 1 ? atol(argv[1]) : 1000;
    sleeps = argc > 3;
    if (argc > 2) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    for (int i = 0; i < 8; i++) pthread_create(&all[i], 0, run, 0);
    for (int i = 0; i < 8; i++) {
        void *result;
        pthread_join(all[i], &result);
        wrong |= (long)result;
    }
    printf("work %ld, on_even %ld, %s\n", atomic_load(&calls), atomic_load(&even), wrong ? "wrong" : "right");
    fflush(stdout);
    if (argc > 2) getchar();
    return wrong ? 1 : 7;
}
