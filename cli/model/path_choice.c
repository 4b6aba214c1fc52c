// SPDX-License-Identifier: Apache-2.0
#include "path_choice.h"

#include <string.h>

#include "critical_path.h"
#include "recording.h"
#include "verdict.h"

static void thread_take(struct recorded_thread *thread, const struct sample *sample,
			const struct thread_row *row)
{
	*thread = (struct recorded_thread){
		.tid = row->tid,
		.pid = thread_pid(sample, row),
		.of_target = true,
	};
	memcpy(thread->name, row->name, sizeof(thread->name));
}

/* Picks this thread if it is the target's. */
static bool choose_hit(struct critical_path *path, const struct sample *sample, pid_t tid,
		       enum path_choice why)
{
	const struct recorded_thread *recorded = recording_thread(sample->recording, tid);

	if (!recorded || !recorded->of_target)
		return false;
	path->thread = *recorded;
	if (!recorded->pid)
		path->thread.pid = sample->pid;
	path->chosen = why;
	return true;
}

static void choose_row(struct critical_path *path, const struct sample *sample)
{
	const struct verdict *verdict = sample->verdict;
	const struct verdict_thread *delayed = NULL, *busy = NULL;

	if (verdict->n_told_blamed && verdict->told[0].worst->members == 1) {
		thread_take(&path->thread, sample, verdict->told[0].worst);
		path->chosen = PATH_OF_VERDICT;
		return;
	}
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct verdict_thread *thread = &verdict->threads[i];

		if (thread->row->members > 1)
			continue;
		if (thread->delay && (!delayed || thread->delay > delayed->delay))
			delayed = thread;
		if (thread->busy && (!busy || thread->busy > busy->busy))
			busy = thread;
	}
	path->chosen = delayed ? PATH_OF_DELAY : PATH_OF_BUSY;
	if (delayed || busy)
		thread_take(&path->thread, sample, delayed ? delayed->row : busy->row);
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
