// SPDX-License-Identifier: Apache-2.0
#include "wait_filter.h"

#include "cli/base/names.h"
#include "words.h"

static const enum kd_state states[] = { KD_BLOCKED,     KD_BLOCKED_UNINT,   KD_STOPPED,
					KD_READY_WOKEN, KD_READY_PREEMPTED, KD_FROZEN };
#define N_STATES (sizeof(states) / sizeof(*states))

const char *wait_filter_word(size_t index)
{
	if (index < N_STATES)
		return ledger_words_of(states[index])->key;
	index -= N_STATES;
	return index < KD_AWAITED_KINDS ? awaited_words[index].key : NULL;
}

bool wait_filter_add(struct wait_filter *filter, const char *word)
{
	bool found = false;
	const char *known;

	for (size_t i = 0; (known = wait_filter_word(i)); i++) {
		if (!names_match(word, known))
			continue;
		if (i < N_STATES)
			filter->states[states[i]] = true;
		else
			filter->awaited[i - N_STATES] = true;
		found = true;
	}
	return found;
}

bool wait_has_kind(uint32_t state)
{
	return state == KD_BLOCKED || state == KD_BLOCKED_UNINT;
}

bool wait_filter_passes(const struct wait_filter *filter, const struct trace_row *row)
{
	bool listed = row->state < KD_STATES && filter->states[row->state];

	if (wait_has_kind(row->state) && row->awaited < KD_AWAITED_KINDS)
		listed |= filter->awaited[row->awaited];
	return listed != filter->others;
}
