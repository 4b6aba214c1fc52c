/* SPDX-License-Identifier: Apache-2.0 */
/* Trigger deltas: shortest window to keep, by name of the thread that ends it (--trigger-delta). */
#ifndef DELTAS_H
#define DELTAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

#define DELTA_NAMES 64 /* bytes of a pattern, with its NUL */

struct deltas {
	uint64_t others; /* ns; for threads that match no pattern */
	bool has_others; /* others was given */
	size_t n;
	struct {
		char names[DELTA_NAMES]; /* a pattern (names.h); the first match counts */
		uint64_t ns;
	} named[KD_NAMED_DELTAS];
};

/* Error in a text, and its position. */
struct deltas_error {
	size_t at;       /* byte offset; the length of the text: at its end */
	const char *why; /* a string constant */
};

/* Reads "1ms,pmd*:50us,revalidator*:20ms". Durations without a unit are ns; max is the longest.
 * Returns 0, or -EINVAL with *error filled. */
int deltas_parse(struct deltas *deltas, const char *text, uint64_t max, struct deltas_error *error);

/* Delta of a thread's name. */
uint64_t deltas_of(const struct deltas *deltas, const char *name);

/* Smallest delta. */
uint64_t deltas_least(const struct deltas *deltas);

#endif
