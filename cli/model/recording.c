// SPDX-License-Identifier: Apache-2.0
#include "recording.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"

const struct recorded_state *recording_states(const struct recording *recording, pid_t tid,
					      size_t *n)
{
	const struct recorded_state *states = recording->states;
	size_t first = ARRAY_SPLIT(recording->n_states, i, states[i].tid < tid);

	*n = ARRAY_SPLIT(recording->n_states, j, states[j].tid <= tid) - first;
	return *n ? states + first : NULL;
}

const struct recorded_thread *recording_thread(const struct recording *recording, pid_t tid)
{
	const struct recorded_thread *threads = recording->threads;
	size_t at = ARRAY_SPLIT(recording->n_threads, i, threads[i].tid < tid);

	return at < recording->n_threads && threads[at].tid == tid ? threads + at : NULL;
}

const struct recorded_culprit *recording_culprit(const struct recording *recording, uint32_t key)
{
	const struct recorded_culprit *culprits = recording->culprits;
	size_t at = ARRAY_SPLIT(recording->n_culprits, i, culprits[i].key < key);

	return at < recording->n_culprits && culprits[at].key == key ? culprits + at : NULL;
}

struct recording_facts recording_facts(const struct recording *recording, uint64_t start)
{
	return (struct recording_facts){
		.asked = recording->asked,
		.held = u64_sub(start, recording->from),
		.events = recording->events,
		.memory = recording->memory,
		.overwritten = recording->overwritten,
		.cut = recording->from > start,
	};
}

void recording_clear(struct recording *recording)
{
	if (!recording)
		return;
#define LIST_FREE(type, name) free(recording->name);
	RECORDING_LISTS(LIST_FREE)
#undef LIST_FREE
	memset(recording, 0, sizeof(*recording));
}
