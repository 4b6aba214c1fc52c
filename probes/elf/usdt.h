/* SPDX-License-Identifier: Apache-2.0 */
/* The USDT probes (statically defined tracepoints) of an ELF file, from its .note.stapsdt, and
 * where their arguments are: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation */
#ifndef USDT_H
#define USDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

/* One site in the code; a probe may have several, and each comes on its own. The
 * strings are gone when the call returns. */
struct usdt_site {
	const char *provider;
	const char *name;
	const char *arguments;     /* where they are, see below; "" if it does not say */
	uint64_t address;          /* as in the symbol table */
	uint64_t offset;           /* of the address in the file */
	uint64_t semaphore;        /* its address; 0: none */
	uint64_t semaphore_offset; /* in the file; 0: none */
	bool usable;               /* false: the addresses are not in the file */
};

/* Returns 0 to go on; anything else ends the search. */
typedef int usdt_found(void *context, const struct usdt_site *site);

/* Calls found for every site. Returns 0; what found returned; -EBADMSG if a note
 * is damaged, after the sites before it; -E2BIG if there are more notes than are
 * read; another -errno. */
int usdt_each(const struct elf_file *file, usdt_found *found, void *context);

/* --- Registers, by their names --- */

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

/* --- Arguments, in the words of the assembler: "-4@%edi 8@-16(%rbp)" --- */

#define USDT_ARGUMENTS_MAX 1024 /* bytes of the text */

/* (base + (index << shift) + offset) is the argument, or its address. */
struct usdt_argument {
	uint8_t size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
	bool in_memory;
	struct register_part base, index; /* of size 0: none */
	uint8_t shift;
	int64_t offset;
	const char *place; /* the words for that, in the text */
	size_t place_length;
};

/* Reads what the note of a probe says of one argument, the first being 0. Returns 0; -ENOENT if
 * it has fewer; -EINVAL if that cannot be understood; -ENOTSUP if it is where no register leads
 * to, or no whole number; *why, a string constant, says more. */
int usdt_argument_read(struct usdt_argument *argument, enum register_machine machine,
		       const char *text, unsigned int number, const char **why);

#endif
