// Installs a filter that refuses rt_sigprocmask, half way; then perhaps loads a library, or ("strict") is in strict mode
// and waits for a byte.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static long total;
__attribute__((noinline, noclone)) void looks(long *pointer) {
    volatile long sum = *pointer;
    for (int at = 0; at < 3; at++) sum += at;
    total += sum;
}
static void many(void) {
    for (long at = 0; at < 1000; at++) {
        long number = at % 10;
        looks(&number);
    }
}
int main(int argc, char **argv) {
    (void)argc;
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, code};
    char byte = 0;
    many();
    if (!strcmp(argv[1], "strict")) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 3;
        write(1, "ready\n", 6);
        read(0, &byte, 1);
    } else {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 4;
        if (!strcmp(argv[1], "library")) dlopen("libresolv.so.2", RTLD_NOW);
    }
    many();
    syscall(SYS_exit, total == 15000 ? 7 : 1);
}
