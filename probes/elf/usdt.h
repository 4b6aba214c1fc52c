/* SPDX-License-Identifier: Apache-2.0 */
/* USDT probes (statically defined tracepoints) of an ELF file, from .note.stapsdt, and locations
 * of their arguments: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation */
#ifndef USDT_H
#define USDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

/* A site in the code; a probe may have several, each reported separately. Strings are only valid
 * during the call. */
struct usdt_site {
	const char *provider;
	const char *name;
	const char *arguments;     /* their locations, see below; "": unspecified */
	uint64_t address;          /* as in the symbol table */
	uint64_t offset;           /* file offset of the address */
	uint64_t semaphore;        /* its address; 0: none */
	uint64_t semaphore_offset; /* in the file; 0: none */
	bool usable;               /* false: the addresses are outside the file */
};

/* Returns 0 to continue; other values end the search. */
typedef int usdt_found(void *context, const struct usdt_site *site);

/* Calls found for each site. Returns 0; the result of found; -EBADMSG: a damaged note, after the
 * sites before it; -E2BIG: too many notes; another -errno. */
int usdt_each(const struct elf_file *file, usdt_found *found, void *context);

/* --- Registers by name --- */

/* Both are supported everywhere, for tests. */
enum register_machine { MACHINE_X86_64, MACHINE_ARM64 };

#if defined(__aarch64__)
#define MACHINE_HERE MACHINE_ARM64
#else
#define MACHINE_HERE MACHINE_X86_64
#endif

struct subregister {
	uint16_t offset; /* in struct pt_regs, bytes */
	uint8_t size;    /* bytes */
};

/* Finds a register by name, such as "rdi", "edi", "r8d", "ah", or "x0", "w0", "sp". Returns
 * false if unknown. */
bool register_find(struct subregister *subregister, enum register_machine machine, const char *name,
		   size_t length);

/* Where a function has its arguments when it begins, and its result when it returns: registers of 8
 * bytes, as offsets in struct pt_regs. */
extern const struct call_registers {
	unsigned int n; /* arguments in registers; the others are on the stack */
	uint16_t arguments[8], result, stack;
	uint16_t on_stack; /* bytes from the stack pointer to the first of those on the stack */
} call_registers[];

/* --- Arguments in assembler syntax: "-4@%edi 8@-16(%rbp)" --- */

#define USDT_ARGUMENTS_MAX 1024 /* bytes of the text */

/* base + (index << shift) + offset is the argument, or its address. */
struct usdt_argument {
	uint8_t size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
	bool in_memory;
	struct subregister base, index; /* size 0: none */
	uint8_t shift;
	int64_t offset;
	const char *location; /* its location in the text */
	size_t location_length;
};

/* Parses one argument of a probe's note, from 0. Returns 0; -ENOENT: no such argument; -EINVAL:
 * syntax error; -ENOTSUP: not reachable by registers, or not an integer; *why, a string
 * constant, explains it. */
int usdt_argument_read(struct usdt_argument *argument, enum register_machine machine,
		       const char *text, unsigned int number, const char **why);

#endif
