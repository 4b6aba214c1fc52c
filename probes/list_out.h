/* SPDX-License-Identifier: Apache-2.0 */
/* The text of lists of probes. */
#ifndef LIST_OUT_H
#define LIST_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LIST_TEXT_MAX (3 * 4096) /* of a trigger: path or provider, and name */

struct list_out {
	FILE *file;
	int error; /* of the file, a negative errno; 0: none so far */
};

/* Text of foreign origin as it is printed; not on the stack, which may be small. NULL: no memory.
 * The caller frees it. */
char *list_escaped(const char *text);

/* Prints, unless that has failed before. */
__attribute__((format(printf, 2, 3))) void list_print(struct list_out *out, const char *fmt, ...);

/* The same for text of foreign origin, escaped and filled up with blanks to a width in columns. */
void list_print_text(struct list_out *out, const char *text, size_t width);

/* --- A collection of names to be sorted and printed --- */

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
