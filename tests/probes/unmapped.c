/* Threads call a function with a pointer that it does not follow; another one takes the memory away and back. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define MOST 16
__attribute__((noinline, noclone)) long work(const char *place, long number) { return number * 3 + (place != 0); }
static char *page;
static long calls;
static volatile int over;
static void *toggle(void *argument) {
    while (!over) {
        mprotect(page, 4096, PROT_NONE);
        mprotect(page, 4096, PROT_READ);
    }
    return argument;
}
static void *call(void *argument) {
    long sum = 0;
    for (long i = 0; i < calls; i++) sum += work(page, i);
    return (void *)sum;
}
static void notice(int signal) {
    (void)!write(1, "a fault that is not ours\n", 25);
    _exit(9);
}
int main(int argc, char **argv) {
    long sum = 0, count = atol(argv[2]);
    pthread_t other, callers[MOST];
    calls = atol(argv[1]);
    page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, notice);
    pthread_create(&other, 0, toggle, 0);
    for (long i = 0; i < count; i++) pthread_create(&callers[i], 0, call, 0);
    for (long i = 0; i < count; i++) {
        void *found;
        pthread_join(callers[i], &found);
        sum += (long)found;
    }
    over = 1;
    pthread_join(other, 0);
    printf("%ld\n", sum);
    return 0;
}
