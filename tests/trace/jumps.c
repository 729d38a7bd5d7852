// A timer's handler jumps out of whatever is run just then, our code too. Tells how many calls began, how many ended, and
// how many jumps there were.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static sigjmp_buf where;
static volatile int is_ready;
static volatile long began, ended, jumps;
__attribute__((noinline, noclone)) long inner(long number) {
    began++;
    volatile long sum = 0;
    for (long at = 0; at < number; at++) sum += at;
    ended++;
    return sum;
}
__attribute__((noinline, noipa)) long outer(long number) {
    volatile long sum = number;
    sum += inner(number);
    return sum + inner(number + 1);
}
static void on(int number) {
    (void)number;
    if (is_ready) {
        is_ready = 0;
        siglongjmp(where, 1);
    }
}
int main(void) {
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, on);
    setitimer(ITIMER_REAL, &often, 0);
    if (sigsetjmp(where, 1)) jumps++;
    while (jumps < 2000) {
        is_ready = 1;
        outer(5000);
    }
    setitimer(ITIMER_REAL, &never, 0);
    is_ready = 0;
    for (int at = 0; at < 20000; at++) outer(5000);
    printf("counts %ld %ld %ld\n", began, ended, jumps);
    return 7;
}
