// Prints the ids of two threads, waits for a line, and calls some functions in each: 100 times in the main one, 1000 in
// the other, and 10 in one that is begun when that has ended, and gets its memory.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile long total;
#define FUNCTION(name) __attribute__((noipa)) void name(long number) { total += number * 3 + 1; }
FUNCTION(in_main) FUNCTION(in_other) FUNCTION(even_in_other) FUNCTION(in_none) FUNCTION(in_named) FUNCTION(in_all)
static void *calls(void *count) {
    for (long at = 0; at < (long)count; at++)
        in_main(at), in_other(at), even_in_other(at), in_none(at), in_named(at), in_all(at);
    return 0;
}
static pthread_barrier_t begun, ready;
static long other;
static void *waits(void *count) {
    pthread_setname_np(pthread_self(), "worker one");
    other = syscall(SYS_gettid);
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&ready);
    return calls(count);
}
int main(void) {
    char line[9];
    pthread_t thread;
    pthread_barrier_init(&begun, 0, 2);
    pthread_barrier_init(&ready, 0, 2);
    pthread_create(&thread, 0, waits, (void *)1000);
    pthread_barrier_wait(&begun);
    printf("%d %ld\n", getpid(), other);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 1;
    pthread_barrier_wait(&ready);
    pthread_join(thread, 0);
    pthread_create(&thread, 0, calls, (void *)10);
    pthread_join(thread, 0);
    calls((void *)100);
    puts("done");
    fflush(stdout);
    return fgets(line, sizeof line, stdin) ? 7 : 1;
}
