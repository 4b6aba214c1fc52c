/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of one ELF file that a name or a pattern means. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/names.h"
#include "elf_file.h"

/* More sites than these are refused: each costs the kernel some work and memory. */
#define FUNCTIONS_MAX 1000

struct function {
	char *name;
	uint64_t address;
	uint64_t size; /* 0: unknown */
	bool resolver;
	bool superseded;
	bool loose; /* it was named without its generic arguments */
};

/* No two of them have the same address; in the order of these. */
struct functions {
	struct function *all;
	size_t n;
	size_t resolvers; /* left out, as code that is run once only */
	bool any;         /* the file has names of functions at all */
	bool too_many;    /* there are more than FUNCTIONS_MAX */
};

/* Finds the functions of this name, also as it is written in C++ or Rust, with its parameters or
 * without, in Rust also without generic arguments, if no other is of the name. Of several versions
 * of it the default one, or, as nm prints them, that of NAME@VERSION. Or all that match, if the
 * name is a pattern. All names are offered to *closest, unless it is NULL. Pid and path as in
 * symbols_each(). Returns 0, also if there are none; or a -errno of symbols_each(). The caller
 * clears *functions in any case. */
int functions_find(struct functions *functions, const struct elf_file *file, pid_t pid,
		   const char *path, const char *name, struct names_closest *closest);

/* Safe to repeat. */
void functions_clear(struct functions *functions);

/* --- C++ and Rust names as they were written --- */

/* Longer results are cut off and end in "...". */
#define DEMANGLED_MAX 4095

/* Returns the text, which the caller frees; NULL if the name is not mangled, if it
 * is too long or nested too deep for libiberty (about 1,000 bytes; this bounds its
 * stack), or without memory: then the name itself is to be shown. */
char *demangle(const char *name);

#endif
