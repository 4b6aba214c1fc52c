/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks that have been unwound lately, by their addresses, each with an ID. */
#ifndef SEEN_H
#define SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind.h"

struct seen;

/* IDs are 0 to room - 1. Returns NULL without memory. */
struct seen *seen_new(uint32_t room);

/* NULL is allowed. */
void seen_free(struct seen *seen);

/* Forgets all; the next ID is 0. */
void seen_forget(struct seen *seen);

/* Makes sure that n further stacks find room, if need be by forgetting all. */
void seen_reserve(struct seen *seen, uint32_t n);

/* Finds the ID of a stack that was unwound by the mappings of that version, or
 * gives it the next one, which needs room, and sets *added. Returns 0, -ENOSPC or
 * -ENOMEM. */
int seen_find(struct seen *seen, uint64_t version, const struct unwound *unwound, uint32_t *id,
	      bool *added);

#endif
