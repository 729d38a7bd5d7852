// One way out of `entered` has no room for a jump. `other` jumps to its second way out, at the same place of the stack.
#include <stdio.h>
#include <unistd.h>
__asm__(".text\n.globl entered\n.type entered,@function\nentered: .cfi_startproc\n movq %rdi,%rax\n addq $5,%rax\n"
        " testq %rdi,%rdi\n jne 2f\n jmp 1f\n1: ret\n2: addq $100,%rax\n addq $100,%rax\n addq $100,%rax\n ret\n"
        ".cfi_endproc\n.size entered,.-entered\n"
        ".globl other\n.type other,@function\nother: .cfi_startproc\n movq %rdi,%rax\n addq $7,%rax\n jmp 2b\n"
        ".cfi_endproc\n.size other,.-other\n");
extern long entered(long), other(long);
int main(void) {
    long sum = 0;
    for (int at = 0; at < 10; at++) {
        sum += entered(0);
        usleep(1000);
        sum += other(1);
    }
    return sum == 3130 ? 7 : 1;
}
