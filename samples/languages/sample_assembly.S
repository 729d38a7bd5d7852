# A function in assembly, with debug info of its lines.
	.text
	.globl	assembly_add
	.type	assembly_add, @function
assembly_add:
	.cfi_startproc
#if defined(__x86_64__)
	leaq	(%rdi,%rsi), %rax
	nop
	ret
#elif defined(__aarch64__)
	add	x0, x0, x1
	nop
	ret
#endif
	.cfi_endproc
	.size	assembly_add, .-assembly_add
	.section	.note.GNU-stack,"",@progbits
