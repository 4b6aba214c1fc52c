/* SPDX-License-Identifier: Apache-2.0 */
/* What code a process had mapped where, and when. */
#ifndef SPACE_H
#define SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Returns NULL without memory. */
struct space *space_new(void);

/* NULL is allowed. */
void space_free(struct space *space);

/* Limits it to so many mappings, from the next space_set() on. */
void space_limit(struct space *space, size_t most);

/* How many mappings it has; and how many of them are of the time before the last change. */
size_t space_size(const struct space *space);
size_t space_past(const struct space *space);

/* Forgets the oldest of what it has of that time; that is something. */
void space_trim(struct space *space);

/* From t on, until the next later time, these n mappings are in force, and no
 * other; they are copied. Those that are empty, or not sorted by address, or overlap
 * the one before, are left out. What is the same as before is not kept again. Times
 * may come in any order, but should rise: one that comes late is in force until the
 * next time that something else was set. Returns 0; -E2BIG if
 * there are more than it may have; -ENOMEM: then all is as before. */
int space_set(struct space *space, uint64_t t, const struct mapping *mappings, size_t n);

/* The mapping of an address at t. Mappings are read a moment after they were made,
 * and nobody says when they go: what is not mapped by those in force at t is looked up
 * in the next later ones that have it, then in the next earlier. NULL if none has it.
 * It stays until the next space_set(). */
const struct mapping *space_find(const struct space *space, uint64_t t, uint64_t address);

/* Whether code of no file is mapped there: memory in which code is made at run time. */
bool space_is_anonymous(const struct space *space, uint64_t t, uint64_t address);

/* A number that is the same for two times, or before and after a space_set(), only
 * if space_find() finds the same there. Never 0. */
uint64_t space_version(const struct space *space, uint64_t t);

#endif
