// SPDX-License-Identifier: Apache-2.0
#include "collect_faulted.h"

#include "cli/base/arith.h"
#include "cli/process/faulted_pages.h"

#define LOST_LEAST 1 /* percent: VERDICT_LEAST */

static uint64_t faults_ns(const struct thread_row *thread)
{
	return u64_add(thread->ledger.ns[LEDGER_FAULT],
		       thread->ledger.awaited[KD_AWAITED_PAGE].total);
}

void faulted_take(struct sample *sample)
{
	uint64_t most = (sample->end - sample->start) / 100 * LOST_LEAST;
	struct thread_row *thread = NULL;

	for (size_t i = 0; i < sample->n_threads; i++)
		if (!sample->threads[i].ended && faults_ns(&sample->threads[i]) > most) {
			thread = &sample->threads[i];
			most = faults_ns(thread);
		}
	if (!thread)
		return;
	sample->faulted.tid = thread->tid;
	faulted_pages_find(&sample->faulted, thread_pid(sample, thread), thread->faulted);
}
