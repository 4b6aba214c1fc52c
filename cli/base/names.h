/* SPDX-License-Identifier: Apache-2.0 */
/* Names as people type them: patterns, and what is close to a wrong one; and lists of names. */
#ifndef NAMES_H
#define NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

#define NAMES_CLOSEST 5

/* True if the text has a wildcard: *, ?, or a [ that is closed. */
bool names_is_glob(const char *text);

/* True if the name is the pattern itself or matches it: * is any text, also with
 * slashes and leading dots, ? any byte, [a-z] and [!a-z] one of a set; a backslash
 * is nothing special. Time is bounded by the product of both lengths. */
bool names_match(const char *glob, const char *name);

/* The same as an automaton for the kernel side. False: the pattern has too many elements. */
bool names_compile(struct kd_names *names, const char *glob);

/* The names out of any number of candidates which are closest to a wanted one.
 * The fields are its own business. */
struct names_closest {
	const char *wanted;
	size_t length;
	size_t n;
	struct {
		char *name;
		unsigned int score;
	} kept[NAMES_CLOSEST];
};

/* Nothing is offered yet. wanted, which may be a pattern, has to outlive *closest. */
void names_closest_init(struct names_closest *closest, const char *wanted);

/* Offers a candidate; a copy is kept if it is close. One that was offered before
 * counts once. Quick: 10 million a second that are not close. Without memory for a
 * copy it is left out. */
void names_closest_offer(struct names_closest *closest, const char *name);

/* How many are close, and those, the closest first. They belong to *closest. */
size_t names_closest_count(const struct names_closest *closest);
const char *names_closest_get(const struct names_closest *closest, size_t index);

/* Prints them as a hint to the error before it: "similar names: <prefix>NAME, ...";
 * or the text `otherwise`, if it is not NULL, where none is close. The prefix, such
 * as "up:libc.so.6:", makes them complete triggers; "" for bare names. */
void names_closest_hint(const struct names_closest *closest, const char *prefix,
			const char *otherwise);

/* Releases what was kept; safe to repeat. */
void names_closest_clear(struct names_closest *closest);

/* --- A list of what could be meant, for the hint to an error --- */

/* Starts as zeroes. */
struct choices {
	char text[2048];
	size_t length;
	size_t n; /* all of them, also those left out of the text */
};

/* Adds one, unless there are many already. */
__attribute__((format(printf, 2, 3))) void choices_add(struct choices *choices, const char *fmt,
						       ...);

void choices_clear(struct choices *choices);

/* Prints them: "choose one: A, B, ...". */
void choices_hint(const struct choices *choices);

/* --- A collection of names to be sorted and printed --- */

/* What is kept of names that a target made, in bytes. */
#define ENTRIES_MAX (128UL << 20)

struct names_entry {
	char *text;
	uint64_t address; /* what else they are sorted by */
	bool flag;        /* for the caller */
};

/* Starts as zeroes. */
struct entries {
	struct names_entry *all;
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
