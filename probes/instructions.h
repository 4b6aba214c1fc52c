/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes machine code one instruction at a time, only as far as control flow needs. Code may be
 * made to deceive its reader: see sandbox.h. */
#ifndef INSTRUCTIONS_H
#define INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum instruction_kind {
	INSTRUCTION_PLAIN,    /* falls through; includes calls */
	INSTRUCTION_RETURN,   /* to the caller */
	INSTRUCTION_JUMP,     /* to target; a conditional one may fall through */
	INSTRUCTION_TABLE,    /* by a table, as compilers do for a switch */
	INSTRUCTION_INDIRECT, /* to an address in a register or memory */
	INSTRUCTION_FAR,      /* elsewhere: to another segment or privilege level */
};

struct instruction {
	enum instruction_kind kind;
	uint64_t address;
	size_t size;             /* bytes */
	uint64_t target;         /* of a jump */
	uint64_t table;          /* its address; arm64: that of the code it is relative to */
	unsigned int entry_size; /* 4: distances from the table; 8: addresses; 0: arm64 */
};

/* Reads code in address order. */
struct instructions;

/* The decoder: capstone, in the version of the build. It is large and few runs need it, so it is
 * loaded on demand. */
#define INSTRUCTIONS_LIBRARY_NAME(major) "libcapstone.so." #major
#define INSTRUCTIONS_LIBRARY_OF(major) INSTRUCTIONS_LIBRARY_NAME(major)
#define INSTRUCTIONS_LIBRARY INSTRUCTIONS_LIBRARY_OF(CAPSTONE_MAJOR)

/* Loads the decoder for a process that cannot open files later. instructions_open() then needs
 * no file until the result is given to dlclose(3). NULL: there is no decoder. */
void *instructions_library(void);

/* For 64 or 32-bit code of this program's machine. Returns 0; -ENOPKG: no decoder; -ENOTSUP: no
 * decoder for that machine; -ENOMEM. The caller closes *instructions. */
int instructions_open(struct instructions **instructions, bool is_64);

/* NULL is allowed. */
void instructions_close(struct instructions *instructions);

/* Sets the code to read next. The code must stay unchanged. */
void instructions_begin(struct instructions *instructions, const void *code, size_t size,
			uint64_t address);

/* Returns 1 and the next instruction; 0 at the end; -EBADMSG with the address set if there is no
 * valid one. */
int instructions_next(struct instructions *instructions, struct instruction *instruction);

#endif
