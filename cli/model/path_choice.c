// SPDX-License-Identifier: Apache-2.0
/* Picks the thread of the critical path. */
#include <string.h>

#include "critical_path.h"
#include "verdict.h"

static void thread_take(struct path_thread *thread, const struct sample *sample,
			const struct thread_row *row)
{
	*thread = (struct path_thread){
		.tid = row->tid,
		.pid = row->pid ? row->pid : sample->pid,
		.of_target = true,
	};
	memcpy(thread->name, row->name, sizeof(thread->name));
}

/* Picks this thread if it is the target's. */
static bool choose_hit(struct critical_path *path, const struct sample *sample, pid_t tid,
		       enum path_choice why)
{
	const struct recorded_thread *known = recording_thread(sample->recording, tid);

	if (!known || !known->of_target)
		return false;
	path->thread = (struct path_thread){
		.tid = tid,
		.pid = known->pid ? known->pid : sample->pid,
		.of_target = true,
	};
	memcpy(path->thread.name, known->name, sizeof(path->thread.name));
	path->chosen = why;
	return true;
}

static void choose_row(struct critical_path *path, const struct sample *sample)
{
	const struct verdict *verdict = sample->verdict;
	const struct verdict_thread *kept = NULL, *busy = NULL;

	if (verdict->n_blamed && verdict->rows[0].worst->members == 1) {
		thread_take(&path->thread, sample, verdict->rows[0].worst);
		path->chosen = PATH_OF_VERDICT;
		return;
	}
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct verdict_thread *thread = &verdict->threads[i];

		if (thread->row->members > 1)
			continue;
		if (thread->kept && (!kept || thread->kept > kept->kept))
			kept = thread;
		if (thread->busy && (!busy || thread->busy > busy->busy))
			busy = thread;
	}
	path->chosen = kept ? PATH_OF_KEPT : PATH_OF_BUSY;
	if (kept || busy)
		thread_take(&path->thread, sample, kept ? kept->row : busy->row);
}

int critical_path_of_sample(struct sample *sample)
{
	struct critical_path *path = &sample->path;
	int error = 0;

	path->start = sample->start;
	path->end = sample->end;
	if (!(sample->stop_triggered &&
	      choose_hit(path, sample, sample->stopped_on, PATH_OF_STOP)) &&
	    !(sample->start_triggered &&
	      choose_hit(path, sample, sample->started_on, PATH_OF_START)))
		choose_row(path, sample);
	if (path->thread.tid)
		error = critical_path_find(path, sample->recording);
	if (error || !path->thread.tid)
		critical_path_clear(path);
	return error;
}
