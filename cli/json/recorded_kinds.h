/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of a recording have in common, each once. */
#ifndef RECORDED_KINDS_H
#define RECORDED_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All that any list has, the rest is 0. No padding: kinds are compared as bytes. */
struct recorded_kind {
	const char *name;
	pid_t tid;
	uint32_t cpu;
	uint32_t state, awaited, from, role;
	uint32_t key;
	int32_t call;
	pid_t waker, holder;
	bool own, goes_on, early, hard;
	uint32_t none;
};
_Static_assert(sizeof(struct recorded_kind) == sizeof(char *) + 12 * sizeof(uint32_t),
	       "no padding");

struct recorded_kinds {
	struct recorded_kind *of; /* in the order in which they came */
	size_t n, most;
	uint32_t *slots; /* of a table: the number of one, from 1 on; 0: none */
	size_t mask;
};

/* Begins a zeroed list of so many at most. Returns 0 or -ENOMEM; recorded_kinds_free() in any case.
 */
int recorded_kinds_begin(struct recorded_kinds *kinds, size_t most);

/* Forgets all. */
void recorded_kinds_reset(struct recorded_kinds *kinds);

/* The number of a kind, from 0 on, which is added if it is not there and there is room; n if there
 * is none. */
size_t recorded_kinds_number(struct recorded_kinds *kinds, const struct recorded_kind *kind);

void recorded_kinds_free(struct recorded_kinds *kinds);

#endif
