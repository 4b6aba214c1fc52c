/* SPDX-License-Identifier: Apache-2.0 */
/* A collection of names to be sorted and printed. */
#ifndef ENTRIES_H
#define ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is kept of names that a target made, in bytes. */
#define ENTRIES_MAX (128UL << 20)

struct entry {
	char *text;
	uint64_t address; /* what else they are sorted by */
	bool flag;        /* for the caller */
};

/* Starts as zeroes. */
struct entries {
	struct entry *all;
	size_t n;
	size_t room;
	size_t bytes;
	bool incomplete; /* some did not fit into ENTRIES_MAX */
};

/* Adds a copy. Returns 0, also if it does not fit, which is noted; or -ENOMEM. */
int entries_add(struct entries *entries, const char *text, uint64_t address, bool flag);

/* Sorts by text, then by address. */
void entries_sort(struct entries *entries);

/* In sorted entries: the index behind those that have the text of the one at first. */
size_t entries_end(const struct entries *entries, size_t first);

/* Safe to repeat. */
void entries_clear(struct entries *entries);

#endif
