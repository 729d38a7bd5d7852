// A loop leads back to the first instruction of a function.
__asm__(".globl turns\n.type turns,@function\nturns: .cfi_startproc\n addq $-3,%rdi\n testq %rdi,%rdi\n jg turns\n"
        " movq %rdi,%rax\n ret\n.cfi_endproc\n.size turns,.-turns\n");
extern long turns(long);
int main(void) {
    long sum = 0;
    for (int at = 0; at < 100; at++) sum += turns(9);
    return sum == 0 ? 7 : 1;
}
