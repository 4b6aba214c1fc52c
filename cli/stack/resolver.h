/* SPDX-License-Identifier: Apache-2.0 */
/* From a stack's copy to names: knows the objects of processes, where they were
 * mapped when, and their symbols. It needs no privileges: it is given open files.
 * It runs in a process of its own, see sandbox.h. */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit_map.h"
#include "stack_copy.h"
#include "unwind.h"

/* --- What was mapped when --- */

/* Code that is mapped. */
struct mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* of start in the file */
	uint32_t object;     /* number of the file, or SPACE_NO_FILE */
};

/* It is not known, or of no file, what is mapped here: nothing of another time. */
#define SPACE_NO_FILE UINT32_MAX

/* How much is kept: of the oldest, some is forgotten beyond it. */
#define SPACE_SNAPSHOTS 256
#define SPACE_MAPPINGS (1U << 20) /* of all snapshots, unless it is limited to fewer */

struct space;

/* --- From copies to names --- */

/* A frame as it is shown. The texts are the resolver's; not escaped. */
struct resolved_frame {
	const char *function; /* demangled; NULL: unknown */
	uint64_t offset; /* from the function's start; or, without it, the address in the object */
	const char *object;   /* its path as mapped, or "[vdso]"; NULL: in none */
	const char *build_id; /* in hexadecimal, where the function is unknown; NULL: none */
	uint32_t file;        /* number of the object, and 1; 0: in none */
};

struct resolver;

/* Asked for a file with separate debug information of an object. First by its build
 * ID, ".build-id/ab/cdef.debug" below a directory for such files, of which there may
 * be several; then by the path that a .gnu_debuglink leads to, which is absolute and
 * in the object's directory, in .debug in it, or in /usr/lib/debug before it. The
 * path is from the file, and hostile. Returns a descriptor, which becomes the
 * resolver's, or a negative errno. */
typedef int resolver_open(void *context, uint32_t object, const char *path);

/* Returns NULL without memory. */
struct resolver *resolver_new(resolver_open *open, void *context);

/* NULL is allowed. */
void resolver_free(struct resolver *resolver);

/* Makes an object known under a number: 0, and then the next one. The descriptor
 * becomes the resolver's, also if this fails. A file that is no ELF file or damaged is
 * an object without symbols. Returns 0; -EINVAL if it is another number; -ENOMEM. */
int resolver_add_object(struct resolver *resolver, uint32_t number, int fd, const char *path);

/* What follows is about the address space with this number; at first it is 0. It begins when it
 * is chosen first; anew: it begins again, and has nothing mapped. What is mapped in all of them
 * has one limit, SPACE_MAPPINGS; beyond it those lose what they had before that had most of it.
 * Returns 0 or -ENOMEM. */
int resolver_choose(struct resolver *resolver, uint32_t number, bool anew);

/* The process of this space names the code that it makes at run time in a file, which becomes the
 * resolver's. Without memory there are no names. */
void resolver_add_jit(struct resolver *resolver, enum jit_file kind, int fd);

/* The next stacks may be of code that was made since the last ones. */
void resolver_renew(struct resolver *resolver);

/* A number that is the same for two stacks of the same addresses only if these mean the same: by
 * what is mapped at t in the space that was chosen (see space_version()) and, if code was made at
 * run time, by its names. */
uint64_t resolver_version(const struct resolver *resolver, uint64_t t,
			  const struct unwound *unwound);

/* From t on (CLOCK_MONOTONIC ns) this code is mapped, n ranges sorted by address,
 * and no other: see space_set(), whose errors it returns. */
int resolver_set_mappings(struct resolver *resolver, uint64_t t, const struct mapping *mappings,
			  size_t n);

/* Unwinds a stack that was copied at t. */
void resolver_unwind(struct resolver *resolver, uint64_t t, const struct stack_copy *copy,
		     struct unwound *unwound);

/* Names a frame; exact as in struct unwound: the function is that of ip if it is, and
 * else of the call before it, and the offset that of ip in any case. Without any
 * function the offset is the address in the object, without any object it is ip. The
 * symbols of an object are read when the first of its frames is named. The texts stay
 * until the next call. */
void resolver_name(struct resolver *resolver, uint64_t t, uint64_t ip, bool exact,
		   struct resolved_frame *frame);

#endif
