/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions return, for sites that no return probe may be put at. */
#ifndef RETURN_SITES_H
#define RETURN_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "probes/elf/elf_file.h"
#include "probes/elf/functions.h"
#include "probes/elf/objects.h"

/* What is looked through. */
struct return_search {
	const char *trigger; /* its text, for messages */
	const char *danger;  /* why no return probe is used; see return_danger() */
	const struct elf_file *file;
	pid_t pid;                         /* whose file it is, */
	const char *path;                  /* and where */
	const struct functions *functions; /* their names may be "" */
	const void *decoder;               /* see instructions_library(); NULL: there is none */
};

/* One return instruction; into: bytes from the function's beginning. Returns 0 to go on, else
 * an exit status. */
typedef int return_site_found(void *context, const struct function *function, uint64_t address,
			      int64_t into);

/* Calls found for every return instruction of all the functions. Returns 0; what found
 * returned; or an exit status after printing why the returns of one of them cannot be
 * caught. */
exit_status return_sites_find(const struct return_search *search, return_site_found *found,
			      void *context);

/* --- The instructions by which a function returns, and whether they are all of its ways out --- */

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

/* --- Where return probes kill --- */

/* The kernel puts the address of its own code on the stack, in site of the one that the function
 * returns to: who looks for that, or moves the stack, finds what does not belong there. */

/* True for a program or shared object that Go's linker made. */
bool file_is_go(const struct elf_file *file);

/* True if the file throws exceptions, of C++ or another language, or looks after those that
 * pass; also if that cannot be told. C is not counted, whatever it cleans up. */
bool file_has_exceptions(const struct elf_file *file);

/* Why a return probe in this object could be the process's end, as part of a sentence; NULL:
 * for no reason that is known. A string constant. */
const char *return_danger(const struct objects *objects, const struct object *object,
			  const struct elf_file *file);

#endif
