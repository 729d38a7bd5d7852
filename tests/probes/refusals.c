// Functions with beginnings of all kinds, and a program in which hits cannot be told, or code has no room.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <signal.h>
/* branch back into its second instruction */
__asm__(".globl looped\n.type looped,@function\nlooped: xorl %eax,%eax\n1: addl %edi,%eax\n decl %edi\n jnz 1b\n ret\n.size looped,.-looped\n"
 ".globl padded\n.type padded,@function\npadded: endbr64\n leal 3(%rdi),%eax\n addl $5,%eax\n ret\n.size padded,.-padded\n"
 ".globl calls\n.type calls,@function\ncalls: call helper\n addl $1,%eax\n ret\n.size calls,.-calls\n"
 "helper: leal 1(%rdi),%eax\n ret\n");
int looped(int), padded(int), calls(int);
__attribute__((noinline,noclone)) int plain(int k) { __asm__ volatile(""); return k * 7 + 3; }
static void on(int n) { (void)n; }
int main(int argc, char **argv) {
  long sum = 0;
  if (argc > 1 && !strcmp(argv[1], "far")) { /* leave no room near */
    unsigned long here = (unsigned long)plain & ~0xffffful;
    for (unsigned long a = here - (3ul << 30); a < here + (3ul << 30); a += 0x10000)
      mmap((void *)a, 0x10000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  }
  if (argc > 1 && !strcmp(argv[1], "handler")) { signal(SIGURG, on); signal(SIGWINCH, on); }
  if (argc > 1 && !strcmp(argv[1], "block")) { sigset_t s; sigfillset(&s); sigprocmask(SIG_BLOCK, &s, 0); }
  if (argc > 1 && !strcmp(argv[1], "seccomp")) {
    struct sock_filter f[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}; struct sock_fprog g = {1, f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &g);
  }
  puts("begin"); fflush(stdout);
  for (int k = 1; k < 200; k++) { sum += looped(k) + padded(k) + calls(k) + plain(k); }
  printf("sum %ld\n", sum); return 0;
}
