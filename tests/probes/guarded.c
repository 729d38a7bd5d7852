/* Protects data of its own, as a collector does to hear of uses: its handler for the fault opens it again. */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
__attribute__((aligned(4096))) volatile long table[512] = {7, 0, 0};
static volatile long faults;
__attribute__((noinline, noclone)) long work(long number) {
    __asm__ volatile("nopw 0(%rax,%rax,1)");
    return number * 3 + 1;
}
static void opened(int signal, siginfo_t *what, void *registers) {
    faults++;
    mprotect((void *)table, sizeof table, PROT_READ | PROT_WRITE);
}
int main(void) {
    long sum = 0;
    struct sigaction action = {.sa_sigaction = opened, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, 0);
    for (long i = 0; i < 40; i++) {
        if (i % 10 == 0) mprotect((void *)table, sizeof table, PROT_NONE);
        sum += work(i);
        table[2]++;
    }
    printf("%ld %ld\n", sum, faults);
    return 0;
}
