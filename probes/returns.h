/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions by which a function returns, and whether they are all of its ways
 * out. */
#ifndef RETURNS_H
#define RETURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/elf/elf_file.h"

#define RETURNS_MAX 500              /* of one function */
#define RETURNS_TABLES 128           /* of jumps, of one function */
#define RETURNS_CODE_MAX (1UL << 20) /* bytes of one part of a function */
#define RETURNS_PARTS 2              /* the function, and what of it is run rarely */

/* A part of a function's code; addresses are those of the file. */
struct code_part {
	uint64_t address;
	const uint8_t *code;
	size_t size;
};

struct function_code {
	struct code_part parts[RETURNS_PARTS];
	size_t n;
	bool is_64;
};

enum returns_result {
	RETURNS_FOUND,
	RETURNS_NONE,     /* it has none */
	RETURNS_LEAVES,   /* at jumps out of it, to target */
	RETURNS_INDIRECT, /* at jumps to where only running it tells */
	RETURNS_FAR,      /* at returns in another way than functions do */
	RETURNS_UNKNOWN, /* at is no instruction that is known, or target is not where one begins */
	RETURNS_TOO_MANY, /* return instructions, or jump tables */
	RETURNS_FAILED,   /* the search itself: no memory, or no decoder */
	RETURNS_RESULTS,
};

struct returns {
	uint32_t result; /* enum returns_result */
	uint32_t n, n_tables;
	uint64_t at, target;
	uint64_t addresses[RETURNS_MAX];
	struct jump_table {
		uint64_t at, address;
		uint64_t entry_size; /* as in struct instruction */
	} tables[RETURNS_TABLES];
};

/* Looks through a function. What it says of tables is to be confirmed. */
void returns_search(struct returns *returns, const struct function_code *function);

/* Takes nothing on trust of what returns_search() may have been made to say, and looks
 * whether the tables lead to sites in the function; if not, changes the result. */
void returns_confirm(struct returns *returns, const struct function_code *function,
		     const struct elf_file *file);

#endif
