/* SPDX-License-Identifier: Apache-2.0 */
/* Random recordings as a machine may make them: in the order that recording.h says, with states and
 * words that there are. */
#ifndef TESTS_UNIT_TIDY_RECORDING_H
#define TESTS_UNIT_TIDY_RECORDING_H

#include <stdlib.h>
#include <string.h>

#include "cli/model/recording.h"

#define TIDY_LATEST (1ULL << 62)

#define TIDY_ORDER(name, type, member)                                                             \
	static int tidy_##name(const void *a, const void *b)                                       \
	{                                                                                          \
		const struct type *left = a, *right = b;                                           \
                                                                                                   \
		return (left->member > right->member) - (left->member < right->member);            \
	}
TIDY_ORDER(runs, recorded_run, cpu)
TIDY_ORDER(irqs, recorded_irq, cpu)
TIDY_ORDER(hits, recorded_hit, at)

static void tidy_times(uint64_t *start, uint64_t *end)
{
	*start %= TIDY_LATEST;
	*end %= TIDY_LATEST;
	if (*end < *start)
		*end = *start;
}

static void tidy_states(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_states; i++) {
		struct recorded_state *state = &recording->states[i];

		tidy_times(&state->start, &state->end);
		if (i && state[-1].tid == state->tid && state->start < state[-1].end) {
			state->start = state[-1].end;
			tidy_times(&state->start, &state->end);
		}
		state->state = (uint8_t)(KD_USER + state->state % (KD_FROZEN - KD_USER + 1));
		state->awaited %= KD_AWAITED_KINDS;
		state->from %= KD_FROM_CONTEXTS;
	}
}

static void tidy_recording(struct recording *recording)
{
	tidy_times(&recording->from, &recording->to);
	tidy_states(recording);
	for (size_t i = 0; i < recording->n_runs; i++)
		tidy_times(&recording->runs[i].start, &recording->runs[i].end);
	for (size_t i = 0; i < recording->n_irqs; i++) {
		struct recorded_irq *irq = &recording->irqs[i];

		tidy_times(&irq->start, &irq->end);
		irq->state %= KD_RUNNING + 1;
		if (strlen(irq->name) >= sizeof(recording->irq_names->text))
			irq->name = "long";
		/* Each name is there once. */
		for (size_t j = 0; j < i; j++)
			if (!strcmp(recording->irqs[j].name, irq->name))
				irq->name = recording->irqs[j].name;
	}
	for (size_t i = 0; i < recording->n_calls; i++) {
		struct recorded_call *call = &recording->calls[i];

		call->start %= TIDY_LATEST;
		call->end %= TIDY_LATEST;
		if (call->end && call->end < call->start)
			call->end = call->start;
	}
	for (size_t i = 0; i < recording->n_hits; i++)
		recording->hits[i].at %= TIDY_LATEST;
	for (size_t i = 0; i < recording->n_stolen; i++) {
		tidy_times(&recording->stolen[i].start, &recording->stolen[i].end);
		recording->stolen[i].ns %= TIDY_LATEST;
	}
	if (recording->n_runs)
		qsort(recording->runs, recording->n_runs, sizeof(*recording->runs), tidy_runs);
	if (recording->n_irqs)
		qsort(recording->irqs, recording->n_irqs, sizeof(*recording->irqs), tidy_irqs);
	if (recording->n_hits)
		qsort(recording->hits, recording->n_hits, sizeof(*recording->hits), tidy_hits);
}

#endif
