/* SPDX-License-Identifier: Apache-2.0 */
/* From a stack's copy to names: knows the objects of processes, their mappings over time, and
 * their symbols. Needs no privileges, since it gets open files. Runs in a process of its own,
 * see sandbox.h. */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/elf/symbols.h"
#include "jit_map.h"
#include "stack_copy.h"
#include "unwind.h"

/* --- Mappings over time --- */

/* A mapping of code. */
struct mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* file offset of start */
	uint32_t object;     /* number of the file, SPACE_NO_FILE or SPACE_BEYOND */
};

/* The mapping is unknown, or not of a file: other times do not apply. */
#define SPACE_NO_FILE UINT32_MAX
/* The mapping is beyond the limits of protocol.h. */
#define SPACE_BEYOND (UINT32_MAX - 1)

/* Limits; beyond them, the oldest data is dropped. */
#define SPACE_SNAPSHOTS 256
#define SPACE_MAPPINGS (1U << 20) /* in all snapshots, unless limited further */

struct space;

/* --- From copies to names --- */

struct resolver;

/* Called for a separate debug file of an object. First by build ID, ".build-id/ab/cdef.debug"
 * below one or more directories for debug files. Then by an absolute path from .gnu_debuglink:
 * in the object's directory, in .debug below it, or in its counterpart below /usr/lib/debug. The
 * path comes from the file and is hostile. Returns a descriptor, which the resolver takes over,
 * or a negative errno. */
typedef int resolver_open(void *context, uint32_t object, const char *path);

/* Returns NULL without memory. */
struct resolver *resolver_new(resolver_open *open, void *context);

/* NULL is allowed. */
void resolver_free(struct resolver *resolver);

/* Adds an object with the next number, from 0. Takes over the descriptor in any case. A file
 * that is not ELF or damaged becomes an object without symbols. Returns 0; -EINVAL for another
 * number; -ENOMEM. */
int resolver_add_object(struct resolver *resolver, uint32_t number, int fd, const char *path);

/* Selects the address space for the following calls; initially 0. A space is empty when first
 * selected; anew: empties it. All spaces share the limit SPACE_MAPPINGS; beyond it, those with
 * the most outdated mappings lose them. Returns 0 or -ENOMEM. */
int resolver_choose(struct resolver *resolver, uint32_t number, bool anew);

/* The process of this space names its JIT code in a file, which the resolver takes over. Without
 * memory there are no names. */
void resolver_add_jit(struct resolver *resolver, enum jit_file kind, int fd);

/* Call before stacks that may contain newer code. */
void resolver_renew(struct resolver *resolver);

/* A number that is equal for two stacks of the same addresses only if they mean the same: by the
 * mappings of the selected space at t (see space_version()) and, for JIT code, by its names. */
uint64_t resolver_version(const struct resolver *resolver, uint64_t t,
			  const struct unwound *unwound);

/* Makes this code the only mapped one from t on (CLOCK_MONOTONIC ns), n ranges sorted by
 * address. Returns errors of space_set(). */
int resolver_set_mappings(struct resolver *resolver, uint64_t t, const struct mapping *mappings,
			  size_t n);

/* Unwinds a stack copied at t. */
void resolver_unwind(struct resolver *resolver, uint64_t t, const struct stack_copy *copy,
		     struct unwound *unwound);

/* Names a frame. exact as in struct unwound: the function is that of ip, otherwise of the call
 * before it; the offset is always that of ip. Without a function, the offset is the address in
 * the object; without an object, it is ip. The build ID is only set without a function; the file
 * is the object's number + 1. An object's symbols are read on first use. Texts are valid until the
 * next call. */
void resolver_name(struct resolver *resolver, uint64_t t, uint64_t ip, bool exact,
		   struct frame *frame);

/* --- Functions of an object, by address --- */

struct function_table;

struct table_function {
	uint64_t start;  /* as in the symbol table */
	uint32_t number; /* in the table */
};

/* Reads the functions of a file by symbols_each_location(), in at most room bytes. Names stay in
 * their files, which must outlive the table. Returns 0, also without functions; -E2BIG if they
 * do not fit; another -errno of symbols_each_location(). The caller frees *table. */
int function_table_read(struct function_table **table, const struct elf_file *file,
			debug_file_finder *find, void *find_context, size_t capacity);

/* NULL is allowed. */
void function_table_free(struct function_table *table);

/* Bytes its functions take. */
size_t function_table_size(const struct function_table *table);

/* Finds the function that contains an address: the one that begins last, as in a debugger. A
 * function of unknown size ends at the next one or with its section, and only counts without any
 * other. Of several names for the same code, prefers visible ones, then those without glibc's
 * __GI_, fewest leading underscores, and the shortest. So it finds poll, not __poll or
 * __GI___poll, like `info symbol` in gdb. Returns whether there is one. */
bool function_table_find(const struct function_table *table, uint64_t address,
			 struct table_function *function);

/* Reads a function's name from the symbol table, without version. Returns false if unreadable:
 * the file may have changed. */
bool function_table_name(const struct function_table *table, uint32_t number,
			 char name[SYMBOL_NAME_MAX + 1]);

#endif
