/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with known ways out, and where those are. Nobody calls them. */
#ifndef TESTS_UNIT_RETURNS_CODE_H
#define TESTS_UNIT_RETURNS_CODE_H

#include <stdint.h>

#define BEGIN(name)                                                                                \
	".globl " #name ", " #name "_end, " #name "_out\n"                                         \
	".type " #name ", @function\n" #name ":\n"
#define END(name) #name "_end:\n.size " #name ", . - " #name "\n"
#define OUT(name) #name "_out: "

#define DECLARE(name) extern const uint8_t name[], name##_end[], name##_out[]
DECLARE(two_returns);
DECLARE(tail_call);
DECLARE(tail_call_if);
DECLARE(with_cold);
DECLARE(with_cold_cold);
DECLARE(with_table);
DECLARE(table_of_functions);
DECLARE(by_register);
DECLARE(without_return);
DECLARE(unknown_code);
DECLARE(over_lock);
DECLARE(into_the_middle);
extern const uint8_t two_returns_first[];

#if defined(__x86_64__)
/* clang-format off */
__asm__(".text\n"
	BEGIN(two_returns)
	"	test %edi, %edi\n"
	"	je 1f\n"
	"	call tail_call\n"
	".globl two_returns_first\n"
	"two_returns_first: ret\n"
	"1:	xor %eax, %eax\n"
	OUT(two_returns) "repz ret\n"
	END(two_returns)
	BEGIN(tail_call)
	"	test %edi, %edi\n"
	"	je 1f\n"
	"	ret\n"
	"1:\n"
	OUT(tail_call) "jmp two_returns\n"
	END(tail_call)
	BEGIN(tail_call_if)
	"	test %edi, %edi\n"
	OUT(tail_call_if) "jne two_returns\n"
	"	ret\n"
	END(tail_call_if)
	BEGIN(with_cold)
	"	test %edi, %edi\n"
	"	jne with_cold_cold\n"
	"1:	inc %eax\n"
	OUT(with_cold) "ret\n"
	END(with_cold)
	BEGIN(with_cold_cold)
	"	dec %eax\n"
	"	je with_cold\n"
	OUT(with_cold_cold) "ret $8\n"
	END(with_cold_cold)
	BEGIN(with_table)
	"	cmp $3, %edi\n"
	"	ja 1f\n"
	"	lea .Ltable(%rip), %rdx\n"
	"	movslq (%rdx,%rdi,4), %rax\n"
	"	add %rdx, %rax\n"
	"	notrack jmp *%rax\n"
	"2:	inc %eax\n"
	"3:	inc %eax\n"
	"4:	inc %eax\n"
	"1:\n"
	OUT(with_table) "ret\n"
	END(with_table)
	".section .rodata\n"
	".balign 4\n"
	".Ltable: .long 2b - .Ltable, 3b - .Ltable, 4b - .Ltable, 1b - .Ltable\n"
	".Lfunctions: .long two_returns - .Lfunctions, with_table - .Lfunctions\n"
	"	.long tail_call - .Lfunctions\n"
	".text\n"
	BEGIN(table_of_functions)
	"	lea .Lfunctions(%rip), %rdx\n"
	"	movslq (%rdx,%rdi,4), %rax\n"
	"	add %rdx, %rax\n"
	"	je 1f\n"
	OUT(table_of_functions) "jmp *%rax\n"
	"1:	ret\n"
	END(table_of_functions)
	BEGIN(by_register)
	"	mov 8(%rdi), %rax\n"
	"	test %rax, %rax\n"
	"	je 1f\n"
	OUT(by_register) "jmp *%rax\n"
	"1:	ret\n"
	END(by_register)
	BEGIN(without_return)
	"1:	jmp 1b\n"
	OUT(without_return) "ud2\n"
	END(without_return)
	BEGIN(unknown_code)
	"	nop\n"
	OUT(unknown_code) ".byte 0x06\n" /* of 32 bits only */
	"	ret\n"
	END(unknown_code)
	BEGIN(over_lock)
	"	je 1f\n"
	"	lock\n"
	"1:	cmpxchg %eax, (%rdi)\n"
	OUT(over_lock) "ret\n"
	END(over_lock)
	BEGIN(into_the_middle)
	OUT(into_the_middle) "jmp 1f\n"
	"	.byte 0xb8\n" /* mov $..., %eax */
	"1:	.byte 0xc3, 0x90, 0x90, 0x90\n"
	"	ret\n"
	END(into_the_middle));
/* clang-format on */
#else
__asm__(".text\n"
	/* clang-format off */
	BEGIN(two_returns)
	"	cbz w0, 1f\n"
	"	bl tail_call\n"
	".globl two_returns_first\n"
	"two_returns_first: ret\n"
	"1:	mov w0, wzr\n"
	OUT(two_returns) "ret\n"
	END(two_returns)
	BEGIN(tail_call)
	"	cbz w0, 1f\n"
	"	ret\n"
	"1:\n"
	OUT(tail_call) "b two_returns\n"
	END(tail_call)
	BEGIN(tail_call_if)
	"	cmp w0, 1\n"
	OUT(tail_call_if) "b.ne two_returns\n"
	"	ret\n"
	END(tail_call_if)
	BEGIN(with_cold)
	"	tbz x0, 3, with_cold_cold\n"
	OUT(with_cold) "ret\n"
	END(with_cold)
	BEGIN(with_cold_cold)
	"	cbnz x0, with_cold\n"
	OUT(with_cold_cold) "ret\n"
	END(with_cold_cold)
	BEGIN(with_table)
	"	adrp x1, .Ltable\n"
	"	add x1, x1, :lo12:.Ltable\n"
	"	ldrb w1, [x1, w0, uxtw]\n"
	"	adr x2, 2f\n"
	"	add x1, x2, w1, sxtb 2\n"
	"	br x1\n"
	"2:	nop\n"
	"3:	nop\n"
	OUT(with_table) "ret\n"
	END(with_table)
	".section .rodata\n"
	".Ltable: .byte (2b - 2b) / 4, (3b - 2b) / 4\n"
	".text\n"
	".balign 4\n"
	BEGIN(table_of_functions)
	"	adr x2, two_returns\n"
	"	add x1, x2, w1, sxtb 2\n"
	OUT(table_of_functions) "br x1\n"
	"	ret\n"
	END(table_of_functions)
	BEGIN(by_register)
	"	ldr x1, [x0, 8]\n"
	OUT(by_register) "br x1\n"
	"	ret\n"
	END(by_register)
	BEGIN(without_return)
	"1:	b 1b\n"
	OUT(without_return) "brk 1\n"
	END(without_return)
	BEGIN(unknown_code)
	"	nop\n"
	OUT(unknown_code) ".inst 0x00ffffff\n"
	"	ret\n"
	END(unknown_code)
	BEGIN(over_lock)
	OUT(over_lock) "ret\n"
	END(over_lock)
	BEGIN(into_the_middle)
	OUT(into_the_middle) ".inst 0x00ffffff\n"
	END(into_the_middle));
/* clang-format on */
#endif

extern const uint8_t __executable_start[]; /* whose address in the file is 0 */

/* The address that something here has in the program's file. */
static uint64_t in_file(const uint8_t *at)
{
	return (uint64_t)(at - __executable_start);
}

#define CODE(name)                                                                                 \
	{                                                                                          \
		.address = in_file(name), .code = (name), .size = (size_t)(name##_end - (name))    \
	}

#endif
