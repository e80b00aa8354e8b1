/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions in the shapes of hand-written assembly: x86inc's PROLOGUE and ALLOC_STACK (x264, FFmpeg, dav1d), perlasm's.
 * Assembled with CFI defined they say where their frames are, without it their code has to.
 */
#ifdef WITH_CFI
#define CFI(...) __VA_ARGS__
#define BEGIN .cfi_startproc
#define END .cfi_endproc
#else
#define CFI(...)
#define BEGIN
#define END
#endif

	.text
	.globl assembly_start, assembly_end, assembly_data, assembly_data_end
	.globl assembly_pushes, assembly_aligned_slot, assembly_switch, assembly_into_another, assembly_aligned_push
	.hidden assembly_pushes, assembly_aligned_slot, assembly_switch, assembly_into_another, assembly_aligned_push
	.p2align 4
assembly_start:

	/* No frame at all. */
	.p2align 4
assembly_leaf:
	BEGIN
	movdqu (%rsi), %xmm0
	paddw %xmm1, %xmm0
	test %edx, %edx
	jz 1f
	movdqu %xmm0, (%rdi)
1:	ret
	END

	/* Registers are saved, one way ends early; rbp is a register as any other. */
	.p2align 4
assembly_pushes:
	BEGIN
	test %edi, %edi
	jle 3f
	push %rbx
	CFI(.cfi_def_cfa_offset 16)
	push %rbp
	CFI(.cfi_def_cfa_offset 24)
	CFI(.cfi_offset %rbp, -24)
	push %r12
	CFI(.cfi_def_cfa_offset 32)
	sub $40, %rsp
	CFI(.cfi_def_cfa_offset 72)
	xor %ebp, %ebp
2:	call assembly_local
	add %eax, %ebp
	mov %r12, 8(%rsp)
	dec %edi
	jg 2b
	mov %ebp, %eax
	add $40, %rsp
	CFI(.cfi_def_cfa_offset 32)
	pop %r12
	CFI(.cfi_def_cfa_offset 24)
	pop %rbp
	CFI(.cfi_def_cfa_offset 16)
	CFI(.cfi_restore %rbp)
	pop %rbx
	CFI(.cfi_def_cfa_offset 8)
3:	ret
	END

	/* Called by the one before alone; not aligned. */
	nop
assembly_local:
	BEGIN
	lea (%rdi,%rdi), %eax
	ret
	END

	/* The stack is aligned, a register keeps the stack pointer. */
	.p2align 4
assembly_aligned_register:
	BEGIN
	push %r14
	CFI(.cfi_def_cfa_offset 16)
	mov %rsp, %rcx
	and $-64, %rsp
	CFI(.cfi_def_cfa %rcx, 16)
	sub $192, %rsp
	movdqa %xmm0, 64(%rsp)
	call assembly_local
4:	paddd %xmm1, %xmm0
	dec %eax
	jg 4b
	mov %rcx, %rsp
	CFI(.cfi_def_cfa %rsp, 16)
	pop %r14
	CFI(.cfi_def_cfa_offset 8)
	ret
	END

	/* The stack is aligned and keeps the stack pointer itself; the register is used for something else. */
	.p2align 4
assembly_aligned_slot:
	BEGIN
	push %rbx
	CFI(.cfi_def_cfa_offset 16)
	push %rbp
	CFI(.cfi_def_cfa_offset 24)
	CFI(.cfi_offset %rbp, -24)
	mov %rsp, %rax
	and $-32, %rsp
	CFI(.cfi_def_cfa %rax, 24)
	sub $96, %rsp
	mov %rax, 80(%rsp)
	CFI(.cfi_escape 0x0f, 6, 0x77, 0xd0, 0x00, 0x06, 0x23, 24)
	xor %eax, %eax
	xor %ebp, %ebp
	call *%rdx
	test %eax, %eax
	jz 5f
	call assembly_leaf
5:	mov 80(%rsp), %rsp
	CFI(.cfi_def_cfa %rsp, 24)
	pop %rbp
	CFI(.cfi_def_cfa_offset 16)
	CFI(.cfi_restore %rbp)
	pop %rbx
	CFI(.cfi_def_cfa_offset 8)
	ret
	END

	/* The same, by a push and a pop, and not aligned. */
	nop
assembly_aligned_push:
	BEGIN
	push %rbx
	CFI(.cfi_def_cfa_offset 16)
	mov %rsp, %rax
	and $-16, %rsp
	CFI(.cfi_def_cfa %rax, 16)
	push %rax
	CFI(.cfi_escape 0x0f, 5, 0x77, 0x00, 0x06, 0x23, 16)
	sub $160, %rsp
	CFI(.cfi_escape 0x0f, 6, 0x77, 0xa0, 0x01, 0x06, 0x23, 16)
	call *%rdx
	add $160, %rsp
	CFI(.cfi_escape 0x0f, 5, 0x77, 0x00, 0x06, 0x23, 16)
	pop %rsp
	CFI(.cfi_def_cfa %rsp, 16)
	pop %rbx
	CFI(.cfi_def_cfa_offset 8)
	ret
	END

	/* The frame pointer keeps it. */
	.p2align 4
assembly_aligned_frame_pointer:
	BEGIN
	push %rbp
	CFI(.cfi_def_cfa_offset 16)
	CFI(.cfi_offset %rbp, -16)
	mov %rsp, %rbp
	CFI(.cfi_def_cfa %rbp, 16)
	and $-32, %rsp
	sub $64, %rsp
	call assembly_leaf
	leave
	CFI(.cfi_def_cfa %rsp, 8)
	CFI(.cfi_restore %rbp)
	ret
	END

	/* rbp is saved by a store, and loaded again. */
	.p2align 4
assembly_stores:
	BEGIN
	sub $24, %rsp
	CFI(.cfi_def_cfa_offset 32)
	mov %rbp, 8(%rsp)
	CFI(.cfi_offset %rbp, -24)
	mov %esi, %ebp
	call assembly_leaf
	lea (%rax,%rbp), %eax
	mov 8(%rsp), %rbp
	add $24, %rsp
	CFI(.cfi_def_cfa_offset 8)
	CFI(.cfi_restore %rbp)
	ret
	END

	/* All it does is in the cases of a switch. */
	.p2align 4
assembly_switch:
	BEGIN
	push %rbx
	CFI(.cfi_def_cfa_offset 16)
	lea cases(%rip), %r8
	movslq (%r8,%rdi,4), %rax
	add %rax, %r8
	jmp *%r8
first_case:
	mov $1, %ebx
	mov %ebx, %eax
	CFI(.cfi_remember_state)
	pop %rbx
	CFI(.cfi_def_cfa_offset 8)
	ret
	CFI(.cfi_restore_state)
second_case:
	call assembly_leaf
third_case:
	sub $8, %rsp
	CFI(.cfi_def_cfa_offset 24)
	call assembly_leaf
	add $8, %rsp
	CFI(.cfi_def_cfa_offset 16)
	pop %rbx
	CFI(.cfi_def_cfa_offset 8)
	ret
	END

	/* It ends in the middle of another one, which has the same frame there. */
	.p2align 4
assembly_into_another:
	BEGIN
	push %rbx
	CFI(.cfi_def_cfa_offset 16)
	xor %eax, %eax
	jmp third_case
	END

	/* Nobody calls it, nothing points to it. */
	.p2align 4
assembly_unknown:
	BEGIN
	push %r13
	CFI(.cfi_def_cfa_offset 16)
	xor %r13d, %r13d
6:	inc %r13d
	cmp %edi, %r13d
	jl 6b
	mov %r13d, %eax
	pop %r13
	CFI(.cfi_def_cfa_offset 8)
	ret
	END
	/* Data among code, as perlasm's tables. */
	.p2align 4
assembly_data:
	.set value, 0x12345
	.rept 320
	.set value, (value * 1103515245 + 12345) & 0x7fffffff
	.long value
	.endr
assembly_data_end:

	/* Behind it. */
	.p2align 4
assembly_last:
	BEGIN
	lea 1(%rdi), %eax
	ret
	END

assembly_end:

	.section .rodata, "a", @progbits
	.p2align 2
cases:
	.long first_case - cases, second_case - cases, third_case - cases

	.section .data.rel.ro, "aw", @progbits
	.p2align 3
	.globl assembly_functions
assembly_functions:
	.quad assembly_aligned_register, assembly_aligned_frame_pointer, assembly_stores, assembly_last
	.section .note.GNU-stack, "", @progbits
