# A function with debug info made by hand: `helper` was inlined within rows of its line 10; of `empty`, inlined by line
# 11, no code is left, and its entry is that of an instruction of `outer`. gdb 18 gives it a byte there if GCC has produced it.
	.text
	.file 1 "own.c"
.Ltext:
	.globl outer
	.type outer, @function
outer:
	.loc 1 10 0
	movl $1, %eax
.Lhelper:
	.loc 1 10 0 is_stmt 0
	movl $2, %ecx
.Lhelper_end:
	addl %ecx, %eax
.Lempty:
	.loc 1 11 0 is_stmt 1
	movl $3, %edx
	.loc 1 12 0
	addl %edx, %eax
	ret
.Lend:
	.size outer, .-outer

	.section .debug_abbrev,"",@progbits
.Labbrev:
	.macro abbrev number, tag, children
	.uleb128 \number, \tag
	.byte \children
	.endm
	.macro ends
	.byte 0, 0
	.endm
	abbrev 1, 0x11, 1	# compile unit: producer, name, comp_dir, language, stmt_list, low_pc, high_pc
	.uleb128 0x25, 0x08, 0x03, 0x08, 0x1b, 0x08, 0x13, 0x0b, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07
	ends
	abbrev 2, 0x2e, 0	# subprogram that was inlined: name, decl_file, decl_line, inline
	.uleb128 0x03, 0x08, 0x3a, 0x0b, 0x3b, 0x0b, 0x20, 0x0b
	ends
	abbrev 3, 0x2e, 1	# subprogram: external, name, decl_file, decl_line, low_pc, high_pc
	.uleb128 0x3f, 0x19, 0x03, 0x08, 0x3a, 0x0b, 0x3b, 0x0b, 0x11, 0x01, 0x12, 0x07
	ends
	abbrev 4, 0x1d, 0	# inlined subroutine: abstract_origin, entry_pc, low_pc, high_pc, call_file, call_line
	.uleb128 0x31, 0x13, 0x52, 0x01, 0x11, 0x01, 0x12, 0x07, 0x58, 0x0b, 0x59, 0x0b
	ends
	.byte 0

	.section .debug_info,"",@progbits
.Linfo:
	.long .Linfo_end-.Lversion
.Lversion:
	.short 4
	.long .Labbrev
	.byte 8
	.uleb128 1
	.asciz "GNU C17 16.1.0 -O2 -g"
	.asciz "own.c"
	.asciz "/made"
	.byte 0x0c
	.long .Lline
	.quad .Ltext, .Lend-.Ltext
.Lhelper_die:
	.uleb128 2
	.asciz "helper"
	.byte 1, 1, 1
.Lempty_die:
	.uleb128 2
	.asciz "empty"
	.byte 1, 2, 1
	.uleb128 3
	.asciz "outer"
	.byte 1, 9
	.quad outer, .Lend-outer
	.uleb128 4
	.long .Lhelper_die-.Linfo
	.quad .Lhelper, .Lhelper, .Lhelper_end-.Lhelper
	.byte 1, 10
	.uleb128 4
	.long .Lempty_die-.Linfo
	.quad .Lempty, .Lempty, 0
	.byte 1, 11
	.byte 0, 0
.Linfo_end:

	.section .debug_line,"",@progbits
.Lline:
	.section .note.GNU-stack,"",@progbits
