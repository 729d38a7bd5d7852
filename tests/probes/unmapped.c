/* Calls a function with a pointer that it does not follow, while another thread takes the memory away and back. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
__attribute__((noinline, noclone)) long work(const char *place, long number) { return number * 3 + (place != 0); }
static char *page;
static volatile int over;
static void *toggle(void *argument) {
    while (!over) {
        mprotect(page, 4096, PROT_NONE);
        mprotect(page, 4096, PROT_READ);
    }
    return argument;
}
int main(int argc, char **argv) {
    long calls = atol(argv[1]), sum = 0;
    pthread_t other;
    page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&other, 0, toggle, 0);
    for (long i = 0; i < calls; i++) sum += work(page, i);
    over = 1;
    pthread_join(other, 0);
    printf("%ld\n", sum);
    return sum == calls * (calls - 1) / 2 * 3 + calls ? 0 : 1;
}
