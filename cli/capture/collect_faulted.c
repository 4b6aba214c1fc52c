// SPDX-License-Identifier: Apache-2.0
#include "collect_faulted.h"

#include "cli/base/arith.h"
#include "cli/model/verdict_row.h"
#include "cli/process/faulted_pages.h"

static uint64_t faults_ns(const struct thread_row *thread)
{
	return thread->ended ? 0
			     : u64_add(thread->ledger.ns[LEDGER_FAULT],
				       thread->ledger.awaited[KD_AWAITED_PAGE].total);
}

void faulted_take(struct sample *sample)
{
	struct thread_row *thread = sample_most(sample, faults_ns, VERDICT_LEAST);

	if (!thread)
		return;
	sample->faulted.tid = thread->tid;
	faulted_pages_find(&sample->faulted, thread_pid(sample, thread), thread->faulted);
}
