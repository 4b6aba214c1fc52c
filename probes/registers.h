/* SPDX-License-Identifier: Apache-2.0 */
/* Where registers lie in what the kernel keeps of a context (struct pt_regs), by the names that
 * assemblers have for them and for parts of them. */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both are known everywhere, to be tested everywhere. */
enum register_machine { MACHINE_X86_64, MACHINE_ARM64 };

#if defined(__aarch64__)
#define MACHINE_HERE MACHINE_ARM64
#else
#define MACHINE_HERE MACHINE_X86_64
#endif

struct register_part {
	uint16_t offset; /* in struct pt_regs, bytes */
	uint8_t size;    /* bytes */
};

/* Finds the register of a name, such as "rdi", "edi", "r8d", "ah", or "x0", "w0", "sp". Returns
 * false if there is none. */
bool register_find(struct register_part *part, enum register_machine machine, const char *name,
		   size_t length);

/* How many arguments of a function are in registers; the others are on the stack. */
unsigned int register_arguments(enum register_machine machine);

/* The register of an argument that is in one. */
struct register_part register_argument(enum register_machine machine, unsigned int number);

/* Where the stack has the next arguments when a function is entered, as bytes above the stack
 * pointer. */
uint16_t register_stack_arguments(enum register_machine machine);

/* What a function returns is here. */
struct register_part register_result(enum register_machine machine);

struct register_part register_stack_pointer(enum register_machine machine);

#endif
