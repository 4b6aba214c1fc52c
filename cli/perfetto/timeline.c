/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static uint64_t end_of(const struct trace_row *row)
{
	return row->end ?: UINT64_MAX;
}

static int row_compare(const void *a, const void *b)
{
	const struct trace_row *x = *(const struct trace_row *const *)a;
	const struct trace_row *y = *(const struct trace_row *const *)b;

	return ORDER(x->tid, y->tid) ?: ORDER(x->start, y->start) ?: ORDER(end_of(y), end_of(x));
}

static int interruption_compare(const void *a, const void *b)
{
	const struct interruption *x = *(const struct interruption *const *)a;
	const struct interruption *y = *(const struct interruption *const *)b;

	return ORDER(x->tid, y->tid) ?: ORDER(x->since, y->since);
}

static int thread_compare(const void *a, const void *b)
{
	const struct timeline_thread *x = a, *y = b;

	return ORDER(x->tid, y->tid);
}

/* Of what is known of a thread, its row comes first. */
static int thread_order(const void *a, const void *b)
{
	const struct timeline_thread *x = a, *y = b;

	return thread_compare(a, b) ?: !!y->row - !!x->row;
}

static int irq_compare(const void *a, const void *b)
{
	const struct recorded_irq *x = *(const struct recorded_irq *const *)a;
	const struct recorded_irq *y = *(const struct recorded_irq *const *)b;

	return ORDER(x->tid, y->tid) ?: ORDER(x->start, y->start) ?: ORDER(y->end, x->end);
}

static int wakeup_compare(const void *a, const void *b)
{
	const struct wakeup *x = a, *y = b;

	return ORDER(x->at, y->at) ?: ORDER(x->from, y->from) ?: ORDER(x->to, y->to);
}

static int other_compare(const void *a, const void *b)
{
	const struct timeline_other *x = a, *y = b;

	return ORDER(x->tid, y->tid);
}

static void sort(void *array, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	if (n)
		qsort(array, n, size, compare);
}

/* --- Threads --- */

static int rows_sort(struct timeline *timeline, const struct sample *sample)
{
	timeline->rows = calloc(sample->traces.n + 1, sizeof(*timeline->rows));
	timeline->interruptions = calloc(sample->n_interruptions + 1,
					 sizeof(*timeline->interruptions));
	if (!timeline->rows || !timeline->interruptions)
		return -ENOMEM;
	for (size_t i = 0; i < sample->traces.n; i++)
		timeline->rows[i] = &sample->traces.rows[i];
	for (size_t i = 0; i < sample->n_interruptions; i++)
		timeline->interruptions[i] = &sample->interruptions[i];
	sort(timeline->rows, sample->traces.n, sizeof(*timeline->rows), row_compare);
	sort(timeline->interruptions, sample->n_interruptions, sizeof(*timeline->interruptions),
	     interruption_compare);
	return 0;
}

/* To the one that was added last, if it is the same. Without a row its latest name counts: new
 * threads have their creator's first. */
static int thread_add(struct timeline *timeline, const struct timeline_thread *thread)
{
	struct timeline_thread *last = timeline->n_threads
					       ? &timeline->threads[timeline->n_threads - 1]
					       : NULL;

	if (last && last->tid == thread->tid) {
		last->pid = last->pid ?: thread->pid;
		last->name = last->row || !*thread->name ? last->name : thread->name;
		last->row = thread->row ?: last->row;
		last->rows = last->rows ?: thread->rows;
		last->n_rows += thread->n_rows;
		last->interruptions = last->interruptions ?: thread->interruptions;
		last->n_interruptions += thread->n_interruptions;
		last->foreign &= thread->foreign;
		return 0;
	}
	if (ARRAY_GROW(timeline->threads, timeline->n_threads, timeline->room_threads))
		return -ENOMEM;
	timeline->threads[timeline->n_threads++] = *thread;
	return 0;
}

static int threads_add(struct timeline *timeline, const struct sample *sample)
{
	int err = 0;

	for (size_t i = 0; i < sample->n_threads && !err; i++) {
		const struct thread_row *row = &sample->threads[i];
		const struct timeline_thread thread = {
			.tid = row->tid, .pid = row->pid, .name = row->name, .row = row
		};

		if (row->members == 1)
			err = thread_add(timeline, &thread);
	}
	for (size_t i = 0; i < sample->traces.n && !err; i++) {
		const struct trace_row *row = timeline->rows[i];
		const struct timeline_thread thread = { .tid = row->tid,
							.pid = row->pid,
							.name = row->name,
							.rows = &timeline->rows[i],
							.n_rows = 1 };

		err = thread_add(timeline, &thread);
	}
	for (size_t i = 0; i < sample->n_interruptions && !err; i++) {
		const struct interruption *row = timeline->interruptions[i];
		const struct timeline_thread thread = { .tid = row->tid,
							.name = row->name,
							.interruptions =
								&timeline->interruptions[i],
							.n_interruptions = 1 };

		err = thread_add(timeline, &thread);
	}
	return err;
}

static bool has_states(const struct recording *recording, pid_t tid)
{
	size_t n;

	return recording_states(recording, tid, &n);
}

/* Also those that ended before the window, and those of other processes. */
static int recorded_threads_add(struct timeline *timeline, const struct recording *recording)
{
	int err = 0;

	for (size_t i = 0; i < recording->n_threads && !err; i++) {
		const struct recorded_thread *row = &recording->threads[i];
		const struct timeline_thread thread = { .tid = row->tid,
							.pid = row->pid,
							.name = row->name,
							.foreign = !row->of_target };

		if (row->of_target ||
		    (row->pid && !row->of_kernel && has_states(recording, row->tid)))
			err = thread_add(timeline, &thread);
	}
	return err;
}

static void threads_join(struct timeline *timeline, const struct sample *sample)
{
	size_t n = timeline->n_threads;

	sort(timeline->threads, n, sizeof(*timeline->threads), thread_order);
	timeline->n_threads = 0;
	/* There is room for all: this never fails. */
	for (size_t i = 0; i < n; i++) {
		const struct timeline_thread thread = timeline->threads[i];

		thread_add(timeline, &thread);
	}
	for (size_t i = 0; i < timeline->n_threads; i++)
		if (!timeline->threads[i].pid)
			timeline->threads[i].pid = sample->pid;
}

const struct timeline_thread *timeline_thread(const struct timeline *timeline, pid_t tid)
{
	const struct timeline_thread wanted = { .tid = tid };

	return timeline->n_threads ? bsearch(&wanted, timeline->threads, timeline->n_threads,
					     sizeof(wanted), thread_compare)
				   : NULL;
}

/* --- What was recorded --- */

static int irqs_sort(struct timeline *timeline, const struct recording *recording)
{
	timeline->irqs = calloc(recording->n_irqs + 1, sizeof(*timeline->irqs));
	if (!timeline->irqs)
		return -ENOMEM;
	for (size_t i = 0; i < recording->n_irqs; i++)
		timeline->irqs[i] = &recording->irqs[i];
	sort(timeline->irqs, recording->n_irqs, sizeof(*timeline->irqs), irq_compare);
	return 0;
}

/* What is recorded of each thread: all lists are by TID. */
static void recorded_join(struct timeline *timeline, const struct recording *recording)
{
	const struct recorded_call *calls = recording->calls;
	const struct recorded_stolen *stolen = recording->stolen;
	const struct recorded_irq **irqs = timeline->irqs;

	for (size_t i = 0; i < timeline->n_threads; i++) {
		struct timeline_thread *thread = &timeline->threads[i];
		pid_t tid = thread->tid;
		size_t first;

		thread->states = recording_states(recording, tid, &thread->n_states);
		first = ARRAY_SPLIT(recording->n_calls, j, calls[j].tid < tid);
		thread->calls = calls ? calls + first : NULL;
		thread->n_calls = ARRAY_SPLIT(recording->n_calls, j, calls[j].tid <= tid) - first;
		first = ARRAY_SPLIT(recording->n_irqs, j, irqs[j]->tid < tid);
		thread->irqs = irqs + first;
		thread->n_irqs = ARRAY_SPLIT(recording->n_irqs, j, irqs[j]->tid <= tid) - first;
		first = ARRAY_SPLIT(recording->n_stolen, j, stolen[j].tid < tid);
		thread->stolen = stolen ? stolen + first : NULL;
		thread->n_stolen = ARRAY_SPLIT(recording->n_stolen, j, stolen[j].tid <= tid) -
				   first;
	}
	for (size_t i = 0; i < timeline->n_others; i++)
		timeline->others[i].states = recording_states(recording, timeline->others[i].tid,
							      &timeline->others[i].n_states);
}

/* --- Who woke whom --- */

static int wakeup_add(struct timeline *timeline, const struct wakeup *wakeup)
{
	if (ARRAY_GROW(timeline->wakeups, timeline->n_wakeups, timeline->room_wakeups))
		return -ENOMEM;
	timeline->wakeups[timeline->n_wakeups++] = *wakeup;
	return 0;
}

static int other_add(struct timeline *timeline, pid_t tid, const char *name)
{
	if (timeline_thread(timeline, tid))
		return 0;
	if (ARRAY_GROW(timeline->others, timeline->n_others, timeline->room_others))
		return -ENOMEM;
	timeline->others[timeline->n_others++] = (struct timeline_other){ .tid = tid,
									  .name = name };
	return 0;
}

/* A row's wakers, of which each but the last was woken by the next one. */
static int row_wakeups_add(struct timeline *timeline, const struct trace_row *row, uint64_t from,
			   uint64_t until)
{
	pid_t to = row->tid;
	const char *to_name = row->name;
	int err = 0;

	for (size_t i = 0; i < KD_WAKERS && !err && row->kind == TRACE_WAIT; i++) {
		const struct waker *waker = &row->wakers[i];
		const struct wakeup wakeup = { waker->at,   waker->tid, to,
					       waker->name, to_name,    waker->from };

		if (!waker->tid || waker->at < from || waker->at > until)
			break;
		err = wakeup_add(timeline, &wakeup) ?: other_add(timeline, waker->tid, waker->name);
		to = waker->tid;
		to_name = waker->name;
	}
	return err;
}

/* By a name of KD_COMM_LEN bytes, which may be known to the recording. */
static const char *recorded_thread_name(const struct recording *recording, pid_t tid)
{
	static const char unknown[KD_COMM_LEN];
	const struct recorded_thread *thread = recording_thread(recording, tid);

	return thread ? thread->name : unknown;
}

static int recorded_wakeups_add(struct timeline *timeline, const struct recording *recording,
				uint64_t from, uint64_t until)
{
	int err = 0;

	for (size_t i = 0; i < recording->n_states && !err; i++) {
		const struct recorded_state *state = &recording->states[i];
		struct wakeup wakeup = { .at = state->end,
					 .from = state->waker,
					 .to = state->tid,
					 .context = state->from };

		if (state->waker <= 0 || state->goes_on || wakeup.at < from || wakeup.at > until)
			continue;
		wakeup.from_name = recorded_thread_name(recording, wakeup.from);
		wakeup.to_name = recorded_thread_name(recording, wakeup.to);
		err = wakeup_add(timeline, &wakeup)
			      ?: other_add(timeline, wakeup.from, wakeup.from_name);
	}
	for (size_t i = 0; i < recording->n_threads && !err; i++)
		if (has_states(recording, recording->threads[i].tid))
			err = other_add(timeline, recording->threads[i].tid,
					recording->threads[i].name);
	return err;
}

/* The same wake-up is in several rows if it led to several. */
static void wakeups_sort(struct timeline *timeline)
{
	size_t left = 0;

	sort(timeline->wakeups, timeline->n_wakeups, sizeof(*timeline->wakeups), wakeup_compare);
	for (size_t i = 0; i < timeline->n_wakeups; i++)
		if (!left || wakeup_compare(&timeline->wakeups[left - 1], &timeline->wakeups[i]))
			timeline->wakeups[left++] = timeline->wakeups[i];
	timeline->n_wakeups = left;
	sort(timeline->others, timeline->n_others, sizeof(*timeline->others), other_compare);
	left = 0;
	for (size_t i = 0; i < timeline->n_others; i++)
		if (!left || timeline->others[left - 1].tid != timeline->others[i].tid)
			timeline->others[left++] = timeline->others[i];
	timeline->n_others = left;
}

static int wakeups_find(struct timeline *timeline, const struct sample *sample, uint64_t from)
{
	int err = 0;

	for (size_t i = 0; i < sample->traces.n && !err; i++)
		err = row_wakeups_add(timeline, timeline->rows[i], from, sample->end);
	if (!err && sample->recording)
		err = recorded_wakeups_add(timeline, sample->recording, from, sample->end);
	wakeups_sort(timeline);
	return err;
}

/* --- The whole --- */

int timeline_make(struct timeline *timeline, const struct sample *sample, uint64_t from)
{
	const struct recording *recording = sample->recording;
	int err = rows_sort(timeline, sample) ?: threads_add(timeline, sample);

	if (!err && recording)
		err = recorded_threads_add(timeline, recording) ?: irqs_sort(timeline, recording);
	if (err)
		return err;
	threads_join(timeline, sample);
	err = wakeups_find(timeline, sample, from);
	if (!err && recording)
		recorded_join(timeline, recording);
	return err;
}

void timeline_clear(struct timeline *timeline)
{
	free(timeline->threads);
	free(timeline->wakeups);
	free(timeline->others);
	free(timeline->rows);
	free(timeline->interruptions);
	free(timeline->irqs);
	*timeline = (struct timeline){ 0 };
}
