/* SPDX-License-Identifier: Apache-2.0 */
/* From stacks to the functions in which threads slept: rows of sleeps, one for each function. */
#ifndef USER_FUNCTIONS_H
#define USER_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/model/sample.h"
#include "cli/model/wchan.h"

struct stack;

/* What sleeps of a row have in each function. Zeroed: nothing. */
#define SLEEP_PARTS 8
struct sleep_parts {
	struct sleep_part_of {
		char function[USER_FUNCTION_LEN];
		uint64_t times, last; /* its weight, and when it was seen last */
	} all[SLEEP_PARTS];
	size_t n;
	uint64_t times; /* of all */
};

/* Adds a stack (NULL: unknown) of a sleep that the kernel knows as this kind, with a weight: how
 * often, or how long. */
void sleep_parts_add(struct sleep_parts *parts, const struct stack *stack, enum wchan_cause kind,
		     uint64_t times, uint64_t last);

/* True if a row says too little, and is large enough to matter; window: its length. */
bool sleep_needs_function(const struct descriptor_row *row, uint64_t window);

/* Replaces a row by one for each function, which get the shares of their weights. The sleep that
 * goes on is in the one seen last. Other rows may be moved, but only to this one's place or behind.
 * Returns 0 or -ENOMEM. */
int sleep_split(struct thread_row *thread, size_t index, const struct sleep_parts *parts);

/* Does that by the sample's traces, where they have stacks of most of the sleeps. Returns 0 or
 * -ENOMEM. */
int user_functions_trace(struct sample *sample);

#endif
