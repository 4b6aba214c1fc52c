// SPDX-License-Identifier: Apache-2.0
#include "path_cpu.h"

#include "cli/base/arith.h"
#include "cli/base/array.h"

/* Hard interrupts interrupt soft ones, and NMIs both. */
#define NESTED 8

/* Interrupts in progress at a time, outer ones first, while that goes back. */
struct nest {
	const struct recorded_irq *in[NESTED];
	unsigned int n;
	uint64_t start, at; /* pieces begin there at the earliest, and end here */
	path_piece *piece;
	void *context;
};

static void nest_piece(struct nest *nest, uint64_t start)
{
	start = u64_max(start, nest->start);
	if (start >= nest->at)
		return;
	nest->piece(nest->context, start, nest->n ? nest->in[nest->n - 1] : NULL);
	nest->at = start;
}

/* Goes back to a time. */
static void nest_back(struct nest *nest, uint64_t to)
{
	for (; nest->n && nest->in[nest->n - 1]->start >= to; nest->n--)
		nest_piece(nest, nest->in[nest->n - 1]->start);
	nest_piece(nest, to);
}

static void nest_enter(struct nest *nest, const struct recorded_irq *irq)
{
	nest_back(nest, irq->end);
	if (nest->n < NESTED && irq->start < nest->at)
		nest->in[nest->n++] = irq;
}

void path_cpu_irqs(const struct recording *recording, uint32_t cpu, uint64_t start, uint64_t end,
		   path_piece *piece, void *context)
{
	const struct recorded_irq *irqs = recording->irqs;
	struct nest nest = { .start = start, .at = end, .piece = piece, .context = context };
	size_t ended = ARRAY_SPLIT(recording->n_irqs, i,
				   irqs[i].cpu < cpu || (irqs[i].cpu == cpu && irqs[i].end <= end));
	size_t later = ended;

	/* Those that went on at the end: an outer one ends after those inside it. */
	while (later < recording->n_irqs && later - ended < NESTED && irqs[later].cpu == cpu)
		later++;
	for (size_t i = later; i > 0; i--) {
		if (irqs[i - 1].cpu != cpu || irqs[i - 1].end <= start)
			break;
		nest_enter(&nest, &irqs[i - 1]);
	}
	nest_back(&nest, start);
}

void path_cpu_runs(const struct recording *recording, uint32_t cpu, uint64_t start, uint64_t end,
		   path_piece *piece, void *context)
{
	const struct recorded_run *runs = recording->runs;
	uint64_t at = end;
	size_t i = ARRAY_SPLIT(recording->n_runs, j,
			       runs[j].cpu < cpu || (runs[j].cpu == cpu && runs[j].start < end));

	for (; i > 0 && at > start && runs[i - 1].cpu == cpu; i--) {
		const struct recorded_run *run = &runs[i - 1];
		uint64_t from = u64_max(run->start, start), to = u64_max(run->end, start);

		if (to < at) {
			piece(context, to, NULL);
			at = to;
		}
		if (from < at) {
			piece(context, from, run);
			at = from;
		}
	}
	if (at > start)
		piece(context, start, NULL);
}
