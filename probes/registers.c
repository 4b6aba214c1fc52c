// SPDX-License-Identifier: Apache-2.0
#include "registers.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* arch/x86/include/uapi/asm/ptrace.h; NULL: it has no such part that has a name. */
static const struct {
	const char *names[5]; /* 64, 32, 16, 8 bits, and the 8 above those */
	uint16_t offset;
} x86_registers[] = {
	{ { "rdi", "edi", "di", "dil" }, 112 },
	{ { "rsi", "esi", "si", "sil" }, 104 },
	{ { "rdx", "edx", "dx", "dl", "dh" }, 96 },
	{ { "rcx", "ecx", "cx", "cl", "ch" }, 88 },
	{ { "r8", "r8d", "r8w", "r8b" }, 72 },
	{ { "r9", "r9d", "r9w", "r9b" }, 64 },
	{ { "rax", "eax", "ax", "al", "ah" }, 80 },
	{ { "rsp", "esp", "sp", "spl" }, 152 },
	{ { "rbx", "ebx", "bx", "bl", "bh" }, 40 },
	{ { "rbp", "ebp", "bp", "bpl" }, 32 },
	{ { "r10", "r10d", "r10w", "r10b" }, 56 },
	{ { "r11", "r11d", "r11w", "r11b" }, 48 },
	{ { "r12", "r12d", "r12w", "r12b" }, 24 },
	{ { "r13", "r13d", "r13w", "r13b" }, 16 },
	{ { "r14", "r14d", "r14w", "r14b" }, 8 },
	{ { "r15", "r15d", "r15w", "r15b" }, 0 },
	{ { "rip", "eip" }, 128 },
};
#define X86_ARGUMENTS 6 /* the first ones of the table, in their order (System V ABI) */
#define X86_RESULT 6
#define X86_STACK 7

/* arch/arm64/include/uapi/asm/ptrace.h: x0 to x30, the stack pointer, the program counter. */
#define ARM64_REGISTERS 31
#define ARM64_STACK (ARM64_REGISTERS * 8)
#define ARM64_COUNTER (ARM64_STACK + 8)
#define ARM64_ARGUMENTS 8 /* AAPCS64 */

static bool name_is(const char *name, size_t length, const char *other)
{
	return other && strlen(other) == length && !memcmp(name, other, length);
}

static bool x86_find(struct register_part *part, const char *name, size_t length)
{
	static const uint8_t sizes[] = { 8, 4, 2, 1, 1 };

	for (size_t i = 0; i < COUNT(x86_registers); i++)
		for (size_t j = 0; j < COUNT(sizes); j++) {
			if (!name_is(name, length, x86_registers[i].names[j]))
				continue;
			part->offset = (uint16_t)(x86_registers[i].offset + (j == 4));
			part->size = sizes[j];
			return true;
		}
	return false;
}

static bool arm64_find(struct register_part *part, const char *name, size_t length)
{
	static const struct {
		const char *name;
		uint16_t offset;
	} special[] = {
		{ "sp", ARM64_STACK },
		{ "pc", ARM64_COUNTER },
		{ "fp", 29 * 8 },
		{ "lr", 30 * 8 },
	};
	unsigned int number = 0;

	part->size = 8;
	for (size_t i = 0; i < COUNT(special); i++)
		if (name_is(name, length, special[i].name)) {
			part->offset = special[i].offset;
			return true;
		}
	if (length < 2 || length > 3 || (*name != 'x' && *name != 'w') ||
	    (length == 3 && name[1] == '0'))
		return false;
	for (size_t i = 1; i < length; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		number = number * 10 + (unsigned int)(name[i] - '0');
	}
	part->offset = (uint16_t)(number * 8);
	part->size = *name == 'x' ? 8 : 4;
	return number < ARM64_REGISTERS;
}

bool register_find(struct register_part *part, enum register_machine machine, const char *name,
		   size_t length)
{
	return machine == MACHINE_X86_64 ? x86_find(part, name, length)
					 : arm64_find(part, name, length);
}

unsigned int register_arguments(enum register_machine machine)
{
	return machine == MACHINE_X86_64 ? X86_ARGUMENTS : ARM64_ARGUMENTS;
}

static struct register_part whole_at(uint16_t offset)
{
	return (struct register_part){ .offset = offset, .size = 8 };
}

struct register_part register_argument(enum register_machine machine, unsigned int number)
{
	return whole_at(machine == MACHINE_X86_64 ? x86_registers[number].offset
						  : (uint16_t)(number * 8));
}

/* x86-64 has the return address before them. */
uint16_t register_stack_arguments(enum register_machine machine)
{
	return machine == MACHINE_X86_64 ? 8 : 0;
}

struct register_part register_result(enum register_machine machine)
{
	return whole_at(machine == MACHINE_X86_64 ? x86_registers[X86_RESULT].offset : 0);
}

struct register_part register_stack_pointer(enum register_machine machine)
{
	return whole_at(machine == MACHINE_X86_64 ? x86_registers[X86_STACK].offset : ARM64_STACK);
}
