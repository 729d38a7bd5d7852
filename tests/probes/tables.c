// Data among code: tables that have names as functions have, and some behind a jump, before code that branches back.
#include <stdio.h>
__asm__(".text\n.globl typed\n.type typed,@function\ntyped: .quad 1,2,3,4\n.size typed,32\n"
        ".globl untyped\nuntyped: .quad 0xc3909090,2,3,4\n.size untyped,32\n"
        /* who decodes one after the other takes the data for the beginning of `mov $..., %rax`, and the jump for its end */
        ".globl swallowed\n.type swallowed,@function\nswallowed: .cfi_startproc\n incq %rdi\n1: incq %rdi\n incq %rdi\n"
        " cmpq $50,%rdi\n jae 3f\n jmp 2f\n .byte 0x48,0xb8,1,2,3,4\n2: jmp 1b\n nop\n nop\n nop\n nop\n"
        "3: movq %rdi,%rax\n ret\n.cfi_endproc\n.size swallowed,.-swallowed\n");
extern long typed[], untyped[], swallowed(long);
int main(void) {
    long sum = 0;
    for (int at = 0; at < 100; at++) sum += typed[at & 3] + untyped[at & 3] + swallowed(at & 7);
    printf("sum %ld\n", sum);
    return 7;
}
