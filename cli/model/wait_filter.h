/* SPDX-License-Identifier: Apache-2.0 */
/* Which waits are listed, by state and by what the thread waited for. */
#ifndef WAIT_FILTER_H
#define WAIT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "traces.h"

struct wait_filter {
	const char *text; /* as it was given */
	bool others;      /* all but these: */
	bool states[KD_STATES];
	bool awaited[KD_AWAITED_KINDS]; /* in the blocked states */
};

/* The words that a filter knows: a state's key, or that of what is awaited. NULL behind the
 * last one. */
const char *wait_filter_word(size_t index);

/* Adds what a word or pattern stands for. Returns false if there is no such thing. */
bool wait_filter_add(struct wait_filter *filter, const char *word);

/* Whether a wait is listed. */
bool wait_filter_passes(const struct wait_filter *filter, const struct trace_row *row);

/* Whether a thread in this state waits for something: only then kinds have a meaning. */
bool wait_has_kind(uint32_t state);

#endif
