// SPDX-License-Identifier: Apache-2.0
#include "collect_workers.h"

#include <errno.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/model/verdict_row.h"
#include "cli/process/worker.h"

#define WORKERS_MOST 16 /* each is a read of some us */

struct workers_search {
	struct sample *sample;
	uint64_t least;
	int error;
};

/* Adds a thread that had so long, if it is a worker, once. */
static void worker_add(struct workers_search *search, pid_t tid, const char name[KD_COMM_LEN],
		       uint64_t ns)
{
	struct sample *sample = search->sample;
	struct worker_row row = { .tid = tid };
	char text[KD_COMM_LEN + 1] = "";

	memcpy(text, name, KD_COMM_LEN);
	if (!tid || ns < search->least || sample->n_workers == WORKERS_MOST || search->error ||
	    !worker_is_name(text))
		return;
	for (size_t i = 0; i < sample->n_workers; i++)
		if (sample->workers[i].tid == tid)
			return;
	if (worker_work(tid, row.work, sizeof(row.work)) &&
	    !ARRAY_APPEND(sample->workers, sample->n_workers, &row))
		search->error = -ENOMEM;
}

int workers_take(struct sample *sample)
{
	struct workers_search search = { sample,
					 (sample->end - sample->start) / 100 * VERDICT_LEAST, 0 };

	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		for (size_t j = 0; j < thread->n_culprits; j++)
			worker_add(&search, thread->culprits[j].tid ?: thread->culprits[j].pid,
				   thread->culprits[j].name, culprit_ns(&thread->culprits[j]));
		for (size_t j = 0; j < thread->n_descriptors; j++)
			worker_add(&search, thread->descriptors[j].ended_by,
				   thread->descriptors[j].ended_name,
				   thread->descriptors[j].waits.total);
		for (size_t j = 0; j < thread->n_locks; j++)
			worker_add(&search, thread->locks[j].holder, thread->locks[j].holder_name,
				   thread->locks[j].waits.total);
	}
	return search.error;
}
