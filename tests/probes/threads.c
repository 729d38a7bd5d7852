// Eight threads call two functions until a line comes by stdin. The program tells whether all results were right, and
// whether all calls were counted.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_long calls;
static atomic_int over;

__attribute__((noinline, noclone)) long work(long number, const char *text) {
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return number * 31 + text[0];
}

__attribute__((noinline, noclone)) long on_even(long number) { return number ^ 0x5555; }

struct one {
    pthread_t thread;
    long calls;
    unsigned long wrong;
};

static void *run(void *argument) {
    struct one *one = argument;
    unsigned long sum = 0, right = 0;
    while (!atomic_load(&over)) {
        for (long i = 0; i < 1000; i++) {
            sum = sum * 7 + work(one->calls, "x");
            right = right * 7 + (one->calls * 31 + 'x');
            if (one->calls % 2 == 0) {
                sum = sum * 3 + on_even(one->calls);
                right = right * 3 + (one->calls ^ 0x5555);
            }
            one->calls++;
        }
    }
    one->wrong = sum - right;
    return 0;
}

int main(void) {
    struct one all[8] = {0};
    long total = 0;
    unsigned long wrong = 0;
    for (int i = 0; i < 8; i++) pthread_create(&all[i].thread, 0, run, &all[i]);
    puts("ready");
    fflush(stdout);
    getchar();
    atomic_store(&over, 1);
    for (int i = 0; i < 8; i++) {
        pthread_join(all[i].thread, 0);
        total += all[i].calls;
        wrong |= all[i].wrong;
    }
    printf("%s, %s\n", total == atomic_load(&calls) ? "all" : "not all", wrong ? "wrong" : "right");
    return 0;
}
