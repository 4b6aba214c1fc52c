/* SPDX-License-Identifier: Apache-2.0 */
/* From a stack's copy to names: knows the objects of a process, where they were
 * mapped when, and their symbols. It needs no privileges: it is given open files.
 * It runs in a process of its own, see sandbox.h. */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack_copy.h"
#include "unwind.h"

/* A frame as it is shown. The texts are the resolver's; not escaped. */
struct resolved_frame {
	const char *function; /* demangled; NULL: unknown */
	uint64_t offset; /* from the function's start; or, without it, the address in the object */
	const char *object;   /* its path as mapped, or "[vdso]"; NULL: in none */
	const char *build_id; /* in hexadecimal; NULL: none */
};

/* Code that is mapped. */
struct mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* of start in the file */
	uint32_t object;     /* the number it was added under */
};

struct resolver;

/* Asked for a file with separate debug information: first by the build ID's path
 * below a root for such files (".build-id/ab/cdef.debug"), then by the path that a
 * .gnu_debuglink leads to. Returns a descriptor, which becomes the resolver's, or
 * -ENOENT. */
typedef int resolver_open(void *context, uint32_t object, const char *path);

/* Returns NULL without memory. */
struct resolver *resolver_new(resolver_open *open, void *context);

/* NULL is allowed. */
void resolver_free(struct resolver *resolver);

/* Makes an object known under a number, 0 or the next one. The descriptor becomes
 * the resolver's, also if this fails. A file that is no ELF file or damaged is an
 * object without symbols. Returns 0 or -ENOMEM. */
int resolver_add_object(struct resolver *resolver, uint32_t number, int fd, const char *path);

/* From t on (CLOCK_MONOTONIC ns) this code is mapped, n places sorted by address,
 * and no other. Returns 0 or -ENOMEM. */
int resolver_set_mappings(struct resolver *resolver, uint64_t t, const struct mapping *mappings,
			  size_t n);

/* Unwinds a stack that was copied at t. */
void resolver_unwind(struct resolver *resolver, uint64_t t, const struct stack_copy *copy,
		     struct unwound *unwound);

/* Names a frame; exact as in struct unwound. The texts stay until the next call. */
void resolver_name(struct resolver *resolver, uint64_t t, uint64_t ip, bool exact,
		   struct resolved_frame *frame);

#endif
