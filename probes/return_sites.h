/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where functions return, for sites without return probes; and the decoder for that. */
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

/* --- Instructions --- */

/* Decodes machine code one instruction at a time, only as far as control flow needs. Code may be
 * made to deceive its reader: see sandbox.h. */

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
 * no file until the result is given to library_close(). NULL: there is no decoder. */
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

/* What to look through. */
struct return_search {
	const char *trigger; /* its text, for messages */
	const char *danger;  /* why no return probe is used; see return_danger() */
	const struct elf_file *file;
	pid_t pid;                         /* the process that maps the file, */
	const char *path;                  /* and its path */
	const struct functions *functions; /* their names may be "" */
	const void *decoder;               /* see instructions_library(); NULL: there is none */
};

/* Called for one return instruction; into: bytes from the function's first. Returns 0 to go on,
 * else an exit status. */
typedef int return_site_found(void *context, const struct function *function, uint64_t address,
			      int64_t into);

/* Calls found for every return instruction of all the functions. Returns 0; the callback's
 * result; or an exit status after printing why a function's returns cannot be caught. */
exit_status return_sites_find(const struct return_search *search, return_site_found *found,
			      void *context);

/* --- Return instructions of a function, and whether they are all of its exits --- */

#define RETURNS_MAX 500              /* in one function */
#define RETURNS_TABLES 128           /* jump tables in one function */
#define RETURNS_CODE_MAX (1UL << 20) /* bytes of one chunk of a function */
#define RETURNS_CHUNKS 2             /* the function, and its rarely run code */

/* A chunk of a function's code: hot, or cold. Addresses are those of the file. */
struct code_chunk {
	uint64_t address;
	const uint8_t *code;
	size_t size;
};

struct function_code {
	struct code_chunk chunks[RETURNS_CHUNKS];
	size_t n;
	bool is_64;
};

enum returns_result {
	RETURNS_FOUND,
	RETURNS_NONE,     /* no return instruction */
	RETURNS_LEAVES,   /* jumps out of the function at `at`, to target */
	RETURNS_INDIRECT, /* jumps at `at` to where only a run can tell */
	RETURNS_FAR,      /* returns at `at`, but not as functions do */
	RETURNS_UNKNOWN,  /* no valid instruction at `at`, or none begins at target */
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

/* Looks through a function. Its tables are to be confirmed. */
void returns_search(struct returns *returns, const struct function_code *function);

/* Checks the results of returns_search() without trust, and that the tables lead to code in the
 * function. Changes the result if not. */
void returns_confirm(struct returns *returns, const struct function_code *function,
		     const struct elf_file *file);

/* --- Where return probes kill --- */

/* The kernel replaces the return address on the stack by one of its own. Code that looks for the
 * return address, or moves the stack, finds the wrong one. */

/* True for a program or shared object made by Go's linker. */
bool file_is_go(const struct elf_file *file);

/* True if the file throws exceptions of C++ or another language, or handles passing ones; also
 * if unsure. C does not count, even with cleanups. */
bool file_has_exceptions(const struct elf_file *file);

/* Says why a return probe in this object could kill the process, as part of a sentence. NULL: no
 * reason found. A string constant. */
const char *return_danger(const struct objects *objects, const struct object *object,
			  const struct elf_file *file);

#endif
