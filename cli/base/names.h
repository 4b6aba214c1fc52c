/* SPDX-License-Identifier: Apache-2.0 */
/* Names as users type them: patterns, similar names, and lists of names. */
#ifndef NAMES_H
#define NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

#define NAMES_CLOSEST 5

/* True if the text has a wildcard: *, ?, or a closed [. */
bool names_is_glob(const char *text);

/* True if the name equals the pattern or matches it. * is any text, including slashes and
 * leading dots, ? any byte, [a-z] and [!a-z] one of a set; backslashes are literal. Time is
 * bounded by the product of both lengths. */
bool names_match(const char *glob, const char *name);

/* The same of a thread's name, which may fill its space. */
bool names_match_comm(const char *glob, const char name[static KD_COMM_LEN]);

/* Compiles a pattern to an automaton for the kernel side. False: too many elements. */
bool names_compile(struct kd_names *names, const char *glob);

/* The candidates closest to a wanted name, closest first. */
struct names_closest {
	const char *wanted;
	size_t length; /* of wanted, or its part that counts */
	size_t n;
	struct {
		char *name;
		unsigned int score;
	} best[NAMES_CLOSEST];
};

/* Starts empty. wanted, which may be a pattern, must outlive *closest. */
void names_closest_init(struct names_closest *closest, const char *wanted);

/* Offers a candidate; copies it if it is similar. Duplicates count once. Fast: 10 million
 * dissimilar ones a second. Without memory, it is dropped. */
void names_closest_offer(struct names_closest *closest, const char *name);

/* Prints them as a hint to the previous error: "similar names: <prefix>NAME, ..."; without any,
 * prints otherwise unless NULL. A prefix such as "up:libc.so.6:" makes them complete triggers;
 * "" for bare names. */
void names_closest_hint(const struct names_closest *closest, const char *prefix,
			const char *otherwise);

/* Frees the copies; may be repeated. */
void names_closest_clear(struct names_closest *closest);

/* --- Choices for the hint to an error --- */

/* Starts zeroed. */
struct choices {
	char text[2048];
	size_t length;
	size_t n; /* total, including those left out of the text */
};

/* Adds a choice, unless there are many already. */
__attribute__((format(printf, 2, 3))) void choices_add(struct choices *choices, const char *fmt,
						       ...);

void choices_clear(struct choices *choices);

/* Prints them: "choose one: A, B, ...". */
void choices_hint(const struct choices *choices);

/* --- Sorted collections of names --- */

/* Limit on names made by a target, in bytes. */
#define ENTRIES_MAX (128UL << 20)

struct names_entry {
	char *text;
	uint64_t address; /* further sort key */
	bool flag;        /* for the caller */
};

/* Starts zeroed. */
struct entries {
	struct names_entry *all;
	size_t n;
	size_t capacity;
	size_t bytes;
	bool incomplete; /* some exceeded ENTRIES_MAX */
};

/* Adds a copy. Returns 0, also if it does not fit, which sets incomplete; or -ENOMEM. */
int entries_add(struct entries *entries, const char *text, uint64_t address, bool flag);

void entries_sort(struct entries *entries);

/* Index after the entries with the same text as first; entries must be sorted. */
size_t entries_end(const struct entries *entries, size_t first);

/* May be repeated. */
void entries_clear(struct entries *entries);

#endif
