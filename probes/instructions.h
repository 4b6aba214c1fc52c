/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code, one instruction after the other, as far as it matters where control
 * goes. The code may be made to deceive its reader: see sandbox.h. */
#ifndef INSTRUCTIONS_H
#define INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum instruction_kind {
	INSTRUCTION_PLAIN,    /* control goes on behind it; calls too */
	INSTRUCTION_RETURN,   /* to the caller */
	INSTRUCTION_JUMP,     /* to target; if it has a condition, or on */
	INSTRUCTION_TABLE,    /* to what a table says, as compilers do it for a switch */
	INSTRUCTION_INDIRECT, /* to what a register or memory says */
	INSTRUCTION_FAR,      /* elsewhere: to another segment or privilege level */
};

struct instruction {
	enum instruction_kind kind;
	uint64_t address;
	size_t size;             /* bytes */
	uint64_t target;         /* of a jump */
	uint64_t table;          /* where the table is; arm64: the code that it is relative to */
	unsigned int entry_size; /* of the table: 4: distances from it; 8: addresses; 0: arm64 */
};

/* Reads code in the order of its addresses. */
struct instructions;

/* The decoder, capstone in the version that this program was built with. It is large and few
 * runs need it, so it is loaded when it is. */
#define INSTRUCTIONS_LIBRARY_NAME(major) "libcapstone.so." #major
#define INSTRUCTIONS_LIBRARY_OF(major) INSTRUCTIONS_LIBRARY_NAME(major)
#define INSTRUCTIONS_LIBRARY INSTRUCTIONS_LIBRARY_OF(CAPSTONE_MAJOR)

/* Loads the decoder, for a process that cannot open files later: as long as what is returned
 * is not given to dlclose(3), instructions_open() needs none. NULL: there is no decoder. */
void *instructions_library(void);

/* For code of the machine that this program is for, of 64 or 32 bits. Returns 0;
 * -ENOPKG if there is no decoder; -ENOTSUP if there is none for it; -ENOMEM. The caller closes
 * *instructions. */
int instructions_open(struct instructions **instructions, bool is_64);

/* NULL is allowed. */
void instructions_close(struct instructions *instructions);

/* The next code is this; it has to stay as it is. */
void instructions_begin(struct instructions *instructions, const void *code, size_t size,
			uint64_t address);

/* Returns 1 and the next instruction; 0 at the end; -EBADMSG if there is none that is
 * known: then its address is set. */
int instructions_next(struct instructions *instructions, struct instruction *instruction);

#endif
