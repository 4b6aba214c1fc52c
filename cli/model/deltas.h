/* SPDX-License-Identifier: Apache-2.0 */
/* How long windows of triggers must be to be kept, by the name of the thread that ends them:
 * --trigger-delta. */
#ifndef DELTAS_H
#define DELTAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

#define DELTA_NAMES 64 /* bytes of a pattern, with its NUL */

struct deltas {
	uint64_t others; /* ns; for all threads that no pattern names */
	bool has_others; /* it was given */
	size_t n;
	struct {
		char names[DELTA_NAMES]; /* a pattern (names.h); the first that matches counts */
		uint64_t ns;
	} named[KD_NAMED_DELTAS];
};

/* What is wrong with a text, and where. */
struct deltas_error {
	size_t at;       /* the byte of the text; its length: behind its end */
	const char *why; /* a string constant */
};

/* Reads "1ms,pmd*:50us,revalidator*:20ms": durations, without a unit in ns, of at most max ns.
 * Returns 0, or -EINVAL with *error filled. */
int deltas_parse(struct deltas *deltas, const char *text, uint64_t max, struct deltas_error *error);

/* That of a thread's name. */
uint64_t deltas_of(const struct deltas *deltas, const char *name);

/* The smallest of all. */
uint64_t deltas_least(const struct deltas *deltas);

#endif
