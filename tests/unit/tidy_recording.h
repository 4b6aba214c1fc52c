/* SPDX-License-Identifier: Apache-2.0 */
/* Random recordings as a machine may make them: in the order that recording.h requires, with
 * existing states and words. */
#ifndef TESTS_UNIT_TIDY_RECORDING_H
#define TESTS_UNIT_TIDY_RECORDING_H

#include <stdlib.h>
#include <string.h>

#include "cli/model/recording.h"

#define TIDY_LATEST (1ULL << 62)

static int tidy_by_cpu(const void *a, const void *b)
{
	const struct span *left = a, *right = b;

	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

static int tidy_by_time(const void *a, const void *b)
{
	const struct span *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

static void tidy_sort(struct spans *spans, int (*compare)(const void *, const void *))
{
	if (spans->n)
		qsort(spans->all, spans->n, sizeof(*spans->all), compare);
}

static void tidy_times(uint64_t *start, uint64_t *end)
{
	*start %= TIDY_LATEST;
	*end %= TIDY_LATEST;
	if (*end < *start)
		*end = *start;
}

static void tidy_states(struct spans *states)
{
	for (size_t i = 0; i < states->n; i++) {
		struct span *state = &states->all[i];

		if (i && state[-1].tid == state->tid && state->start < state[-1].end) {
			state->start = state[-1].end;
			tidy_times(&state->start, &state->end);
		}
		state->state = (uint8_t)(KD_USER + state->state % (KD_FROZEN - KD_USER + 1));
		state->awaited %= KD_AWAITED_KINDS;
		state->from %= KD_FROM_CONTEXTS;
	}
}

static void tidy_irqs(struct spans *irqs)
{
	for (size_t i = 0; i < irqs->n; i++) {
		struct span *irq = &irqs->all[i];

		irq->state %= KD_RUNNING + 1;
		if (strlen(irq->name) >= sizeof(struct recorded_name))
			irq->name = "long";
		/* Each name is there once. */
		for (size_t j = 0; j < i; j++)
			if (!strcmp(irqs->all[j].name, irq->name))
				irq->name = irqs->all[j].name;
	}
}

static void tidy_recording(struct recording *recording)
{
	struct spans *spans = recording->spans;

	tidy_times(&recording->from, &recording->to);
	for (size_t i = 0; i < SPAN_LISTS; i++)
		for (size_t j = 0; j < spans[i].n; j++)
			tidy_times(&spans[i].all[j].start, &spans[i].all[j].end);
	tidy_states(&spans[SPAN_STATES]);
	tidy_irqs(&spans[SPAN_IRQS]);
	tidy_sort(&spans[SPAN_RUNS], tidy_by_cpu);
	tidy_sort(&spans[SPAN_IRQS], tidy_by_cpu);
	tidy_sort(&spans[SPAN_HITS], tidy_by_time);
}

#endif
