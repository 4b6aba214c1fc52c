// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "recording_take.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/proc_file.h"
#include "cli/capture/parts/culprits.h"
#include "cli/capture/parts/recorder.h"
#include "cli/capture/session/slots.h"
#include "cli/capture/session/types.h"
#include "cli/model/recording_make.h"
#include "collect_row.h"
#include "session.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

struct taking {
	struct session *session;
	const struct session_view *view;
	struct recording *recording;
	struct recorded_now *now;
	size_t n_now, capacity_now;
	struct span *running;
	size_t n_running;
};

/* --- Names --- */

static int thread_add(struct recording *recording, const struct recorded_thread *thread)
{
	return ARRAY_ADD(recording->threads, recording->n_threads, recording->capacity_threads,
			 *thread);
}

/* Orders by TID, with the target's threads first: only the first entry of a TID stays. */
static int thread_compare(const void *a, const void *b)
{
	const struct recorded_thread *left = a, *right = b;

	return ORDER(left->tid, right->tid) ?: right->of_target - left->of_target;
}

static void threads_sort(struct recording *recording)
{
	struct recorded_thread *threads = recording->threads;
	size_t n = 0;

	ARRAY_SORT(threads, recording->n_threads, thread_compare);
	for (size_t i = 0; i < recording->n_threads; i++)
		if (!n || threads[n - 1].tid != threads[i].tid)
			threads[n++] = threads[i];
	recording->n_threads = n;
}

static int followed_add(struct taking *taking, const struct recorder *recorder)
{
	int error = 0;

	for (size_t i = 0; i < KD_FOLLOWED && !error; i++) {
		struct kd_followed followed = recorder->followed[i];
		struct recorded_thread thread = {
			.tid = (pid_t)followed.tid,
			.pid = (pid_t)followed.tgid,
			.of_kernel = followed.flags & PF_KTHREAD,
		};

		memcpy(thread.name, followed.comm, sizeof(thread.name));
		if (thread.tid)
			error = thread_add(taking->recording, &thread);
	}
	return error;
}

/* Adds a thread of the target in its present state. */
static int now_add(struct taking *taking, const struct kd_thread *thread)
{
	struct recorded_thread row = {
		.tid = (pid_t)thread->tid,
		.pid = (pid_t)thread->tgid,
		.of_target = true,
	};
	struct recorded_now *now;

	memcpy(row.name, thread->comm, sizeof(row.name));
	if (ARRAY_GROW(taking->now, taking->n_now, taking->capacity_now))
		return -ENOMEM;
	now = &taking->now[taking->n_now++];
	*now = (struct recorded_now){
		.tid = row.tid,
		.state = (uint8_t)thread_state(thread),
		.awaited = (uint8_t)(thread->state ? thread->awaited : thread->seed_awaited),
		.cpu = kd_is_ready(thread->state) ? thread->waiting.cpu : thread->cpu,
		.call = thread->state ? thread->call : thread->seed_call,
		.since = thread->born ? thread->since + taking->view->epoch : 0,
	};
	return thread_add(taking->recording, &row);
}

static int now_compare(const void *a, const void *b)
{
	const struct recorded_now *left = a, *right = b;

	return ORDER(left->tid, right->tid);
}

static int threads_take(struct taking *taking, const struct recorder *recorder)
{
	int error = followed_add(taking, recorder);

	for (size_t i = 0; i < ENDED_NAMES && i < recorder->n_ended && !error; i++)
		error = thread_add(taking->recording, &recorder->ended[i]);
	for (uint32_t slot = 1; slot < taking->view->slots && !error; slot++) {
		const struct kd_thread thread = taking->view->threads[slot];

		if (thread.task && thread.tid)
			error = now_add(taking, &thread);
	}
	if (error)
		return error;
	ARRAY_SORT(taking->now, taking->n_now, now_compare);
	threads_sort(taking->recording);
	return 0;
}

/* Stores each name once, so the array does not move. */
static const char *irq_name(void *context, pid_t tid, bool hard, uint8_t index)
{
	struct taking *taking = context;
	struct recording *recording = taking->recording;
	const uint32_t slot = hard ? view_slot(taking->view, tid) : KD_SLOT_FREE;
	const struct kd_thread *thread = slot ? &taking->view->threads[slot] : NULL;
	struct irq_row row = { .name = "other" };

	if (!hard)
		collect_softirq_name(index, &row);
	else if (thread || index < KD_VECTORS)
		collect_hardirq_name(taking->session, index, thread, &row);
	for (size_t i = 0; i < recording->n_irq_names; i++)
		if (!strcmp(recording->irq_names[i].text, row.name))
			return recording->irq_names[i].text;
	if (recording->n_irq_names == recording->capacity_irq_names)
		return "other";
	memcpy(recording->irq_names[recording->n_irq_names].text, row.name, sizeof(row.name));
	return recording->irq_names[recording->n_irq_names++].text;
}

#define IRQ_NAMES 1024

static int irq_names_begin(struct recording *recording)
{
	recording->irq_names = calloc(IRQ_NAMES, sizeof(*recording->irq_names));
	recording->capacity_irq_names = recording->irq_names ? IRQ_NAMES : 0;
	return recording->irq_names ? 0 : -ENOMEM;
}

/* Resolves keys to tasks while the tables still have them. */
static int culprits_take(struct taking *taking)
{
	struct recording *recording = taking->recording;

	recording->culprits = calloc(KD_CULPRITS, sizeof(*recording->culprits));
	if (!recording->culprits)
		return -ENOMEM;
	recording->capacity_culprits = KD_CULPRITS;
	recording->n_culprits = culprits_all(session_culprits(taking->session),
					     recording->culprits);
	return 0;
}

/* --- Tasks on the CPUs now --- */

/* Reads which tasks are on CPUs, before the rings are copied: a run that ends in between has left
 * its event, and one that ends later is found here. Returns 0 or -ENOMEM. */
static int running_read(struct taking *taking)
{
	taking->running = calloc(session_cpus(taking->session), sizeof(*taking->running));
	if (!taking->running)
		return -ENOMEM;
	taking->n_running = culprits_running(session_culprits(taking->session), taking->view,
					     taking->running);
	return 0;
}

/* Adds the last run of a CPU, from the end of the last recorded one on. */
static int running_add(struct spans *runs, struct span run)
{
	size_t at = ARRAY_SPLIT(runs->n, i, runs->all[i].cpu <= run.cpu);

	if (at && runs->all[at - 1].cpu == run.cpu)
		run.start = u64_max(run.start, runs->all[at - 1].end);
	if (run.start >= run.end)
		return 0;
	if (ARRAY_GROW(runs->all, runs->n, runs->capacity))
		return -ENOMEM;
	memmove(runs->all + at + 1, runs->all + at, (runs->n++ - at) * sizeof(*runs->all));
	runs->all[at] = run;
	return 0;
}

static int running_take(struct taking *taking)
{
	struct recording *recording = taking->recording;
	int error = 0;

	for (size_t i = 0; i < taking->n_running && !error; i++) {
		struct span run = taking->running[i];

		run.start = u64_max(run.start + taking->view->epoch, recording->from);
		run.end = recording->to;
		error = running_add(&recording->spans[SPAN_RUNS], run);
	}
	return error;
}

/* --- The recording --- */

static int recording_fill(struct taking *taking, uint64_t before)
{
	struct recorder *recorder = session_recorder(taking->session);
	struct recording *recording = taking->recording;
	struct recording_source source = { .irq_name = irq_name, .context = taking };
	uint64_t start = taking->view->start + taking->view->epoch, since, complete;
	int error;

	recording->wanted = before;
	recording->memory = recorder_bytes(recorder);
	recording->to = taking->view->end + taking->view->epoch;
	since = u64_max(u64_sub(start, before), recorder->began);
	error = running_read(taking);
	if (error)
		return error;
	error = recorder_rings_copy(&recorder->rings, since, clock_monotonic(), taking->view->epoch,
				    &source.events, &source.n_events, &complete);
	recording->from = u64_min(complete, recording->to);
	recording->overwritten = complete > since;
	if (!error)
		error = threads_take(taking, recorder) ?:
			irq_names_begin(recording) ?:
			culprits_take(taking);
	source.now = taking->now;
	source.n_now = taking->n_now;
	if (!error)
		error = recording_make(recording, &source) ?: running_take(taking);
	free(source.events);
	return error;
}

bool recording_is_full(struct session *session)
{
	return recorder_rings_are_full(&session_recorder(session)->rings);
}

int recording_take(struct session *session, const struct session_view *view, uint64_t before,
		   struct recording **out)
{
	struct taking taking = { .session = session, .view = view };
	int error;

	*out = NULL;
	if (!session_recorder(session))
		return 0;
	taking.recording = calloc(1, sizeof(*taking.recording));
	if (!taking.recording)
		return -ENOMEM;
	error = recording_fill(&taking, before);
	free(taking.running);
	free(taking.now);
	if (error) {
		recording_clear(taking.recording);
		free(taking.recording);
		return error;
	}
	*out = taking.recording;
	return 0;
}
