/* SPDX-License-Identifier: Apache-2.0 */
/* Finds functions of an ELF file by name or pattern. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/names.h"
#include "elf_file.h"

/* More sites are refused: each costs the kernel time and memory. */
#define FUNCTIONS_MAX 1000

struct function {
	char *name;
	uint64_t address;
	uint64_t size; /* 0: unknown */
	bool resolver;
	bool superseded;
	bool loose; /* matched without its generic arguments */
};

/* Sorted by address, no duplicates. */
struct functions {
	struct function *all;
	size_t n;
	size_t resolvers; /* left out, because this code only runs once */
	bool any;         /* the file has any function names */
	bool too_many;    /* more than FUNCTIONS_MAX */
};

/* Finds functions by name, which may also be a C++ or Rust source name, with or without
 * parameters. Rust names also match without generic arguments, unless there is an exact match.
 * Of several versions, finds the default one, or that of NAME@VERSION, as printed by nm. A
 * pattern finds all matches. Offers all names to *closest, unless NULL. pid and path as in
 * symbols_each(). Returns 0, even without matches; or an -errno of symbols_each(). The caller
 * clears *functions in either case. */
int functions_find(struct functions *functions, const struct elf_file *file, pid_t pid,
		   const char *path, const char *name, struct names_closest *closest);

/* May be repeated. */
void functions_clear(struct functions *functions);

/* --- Demangling of C++ and Rust --- */

/* Longer results are cut and end in "...". */
#define DEMANGLED_MAX 4095

/* Returns the text, which the caller frees. NULL if the name is not mangled, is too long or
 * nested too deeply for libiberty (about 1,000 bytes; this bounds its stack), or without memory:
 * show the name itself. */
char *demangle(const char *name);

#endif
