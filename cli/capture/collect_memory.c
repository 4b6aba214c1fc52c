// SPDX-License-Identifier: Apache-2.0
#include "collect_memory.h"

#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/model/verdict_row.h"
#include "cli/model/wchan.h"
#include "cli/process/memory_limits.h"

void memory_watch_look(struct memory_watch *watch, pid_t pid, bool open)
{
	const uint64_t now = clock_monotonic();

	if ((open && watch->looked) || now < watch->due)
		return;
	watch->n = memory_limits_read("", pid, watch->limits, MEMORY_LIMITS);
	watch->looked = true;
	watch->due = now + NSEC_PER_SEC;
}

/* Time that went to memory which was not there. */
static uint64_t memory_lost(const struct thread_row *thread)
{
	uint64_t ns = u64_add(thread->ledger.ns[LEDGER_RECLAIM], thread->majors.times.total);

	for (size_t i = 0; i < thread->n_descriptors; i++) {
		const struct wchan *wchan = wchan_of(thread->descriptors[i].wchan);

		if (wchan && wchan->cause == WCHAN_MEMORY)
			ns = u64_add(ns, thread->descriptors[i].waits.total);
	}
	return ns;
}

/* How often a limit was reached since the look before; if there was none at it, all of its hits
 * count while the group is full. */
static uint64_t hits_since(const struct memory_watch *watch, const struct memory_limit *now)
{
	for (size_t i = 0; i < watch->n; i++) {
		const struct memory_limit *before = &watch->limits[i];

		if (!strcmp(before->group, now->group) && !strcmp(before->file, now->file))
			return u64_sub(now->hits, before->hits);
	}
	return now->used >= now->bytes - now->bytes / 10 ? now->hits : 0;
}

void memory_limit_take(const struct memory_watch *watch, struct sample *sample)
{
	const struct thread_row *thread = sample_most(sample, memory_lost, VERDICT_LEAST);
	struct memory_limit limits[MEMORY_LIMITS];
	size_t n;

	if (!thread)
		return;
	n = memory_limits_read("", thread_pid(sample, thread), limits, MEMORY_LIMITS);
	for (size_t i = 0; i < n; i++) {
		limits[i].hits = hits_since(watch, &limits[i]);
		if (limits[i].hits > sample->memory_limit.hits)
			sample->memory_limit = limits[i];
	}
}
