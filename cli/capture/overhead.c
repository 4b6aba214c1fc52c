// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "overhead.h"

#include <stdlib.h>
#include <unistd.h>

#include "../clock.h"

#define PERIOD_NS (100 * NSEC_PER_MSEC)
#define COST_MAX_NS (20 * NSEC_PER_USEC)

struct overhead {
	struct session *session;
	uint64_t percent;
	uint64_t looked;  /* when */
	uint64_t foreign; /* hits by others then */
	uint64_t *hits;   /* by slot, then */
	uint64_t *tasks;  /* whose the slot was then */
};

struct overhead *overhead_new(struct session *session, uint64_t percent)
{
	struct overhead *overhead = calloc(1, sizeof(*overhead));
	uint32_t slots = session_view(session).slots;

	if (!overhead)
		return NULL;
	overhead->session = session;
	overhead->percent = percent;
	overhead->looked = clock_monotonic();
	overhead->hits = calloc(slots, sizeof(*overhead->hits));
	overhead->tasks = calloc(slots, sizeof(*overhead->tasks));
	if (overhead->hits && overhead->tasks)
		return overhead;
	overhead_free(overhead);
	return NULL;
}

void overhead_free(struct overhead *overhead)
{
	if (!overhead)
		return;
	free(overhead->hits);
	free(overhead->tasks);
	free(overhead);
}

/* The most hits of one thread since the last look. */
static uint64_t worst_thread(struct overhead *overhead, pid_t *tid)
{
	struct session_view view = session_view(overhead->session);
	uint64_t worst = 0;

	for (uint32_t slot = 1; slot < view.slots; slot++) {
		const struct kd_thread *thread = &view.threads[slot];
		uint64_t hits = thread->hits, before = overhead->hits[slot];

		if (thread->task != overhead->tasks[slot] || hits < before)
			before = 0;
		overhead->hits[slot] = hits;
		overhead->tasks[slot] = thread->task;
		if (hits - before > worst) {
			worst = hits - before;
			*tid = (pid_t)thread->tid;
		}
	}
	return worst;
}

/* Hits of other processes since the last look, as if each CPU were one thread. */
static uint64_t others(struct overhead *overhead)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct kd_tally tally;
	uint64_t hits;

	if (session_tally(overhead->session, &tally) || cpus < 1)
		return 0;
	hits = tally.foreign - overhead->foreign;
	overhead->foreign = tally.foreign;
	return hits / (uint64_t)cpus;
}

/* Of start and stop on average: there are about as many of each. */
static uint64_t hit_cost(struct session *session)
{
	uint64_t start = session_hit_cost(session, KD_START);
	uint64_t stop = session_hit_cost(session, KD_STOP);

	return start && stop ? (start + stop) / 2 : start + stop;
}

uint64_t overhead_check(struct overhead *overhead, pid_t *tid)
{
	uint64_t now = clock_monotonic(), elapsed = now - overhead->looked, hits, foreign, limit,
		 spent;

	if (!overhead->percent || elapsed < PERIOD_NS)
		return 0;
	overhead->looked = now;
	hits = worst_thread(overhead, tid);
	foreign = others(overhead);
	if (foreign > hits) {
		hits = foreign;
		*tid = 0;
	}
	limit = overhead->percent * elapsed / 100;
	/* Far from it, even on slow machines: not worth measuring what hits cost. */
	if (hits * COST_MAX_NS <= limit)
		return 0;
	spent = hits * hit_cost(overhead->session);
	return spent > limit ? (spent * 100 + elapsed - 1) / elapsed : 0;
}
