/* Sleeps in a system call of its own, so that a debugger interrupts it there; ends with 0 when nothing of that shows. */
#include <stdio.h>
#include <time.h>

/* For a debugger to call: another vector register than before. */
int change(void) {
    __asm__ volatile("pcmpeqd %%xmm3, %%xmm3" ::: "xmm3");
    return 7;
}

int main(void) {
    const struct timespec pause = {.tv_sec = 2};
    const long given = 0x1234567;
    long result, found;
    printf("ready\n");
    fflush(stdout);
    __asm__ volatile("movq %4, %%xmm3\n\tsyscall\n\tmovq %%xmm3, %1"
                     : "=a"(result), "=r"(found)
                     : "a"(35L), "D"(&pause), "r"(given), "S"(0L)
                     : "rcx", "r11", "xmm3", "memory");
    printf("result %ld, register %#lx\n", result, found);
    return !(result == 0 && found == given);
}
