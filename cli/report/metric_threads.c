// SPDX-License-Identifier: Apache-2.0
/* What the threads of a sample add to the metrics. Threads that have the same labels
 * are merged first: only then it is known which system calls are the largest. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "metric_take.h"
#include "text_words.h"

#define OTHER "other"
#define THREAD_LABELS 96

/* A thread with its labels: a name of 16 bytes, each of which may become 3, and a TID. */
struct place {
	const struct thread_row *row;
	bool with_tid;
	char labels[THREAD_LABELS];
};
_Static_assert(THREAD_LABELS > sizeof("thread=\"\",tid=\"2147483647\"") + 3 * KD_COMM_LEN,
	       "room for all labels of a thread");

/* The thread whose rows are being touched. */
struct taking {
	struct metrics *metrics;
	const struct sample *sample;
	struct metric_row *thread;
	size_t n_labels; /* bytes of its labels, to which each row adds its own */
	struct metric_labels labels;
};

static size_t name_length(const struct metrics *metrics, const char name[static KD_COMM_LEN])
{
	size_t length = strnlen(name, KD_COMM_LEN), digits = length;

	if (!metrics->options.fold_names)
		return length;
	while (digits && isdigit((unsigned char)name[digits - 1]))
		digits--;
	return digits ? digits : length;
}

/* An empty value would be no label at all. tid 0: none. */
static void thread_labels(struct metric_labels *labels, const struct metrics *metrics,
			  const char name[static KD_COMM_LEN], pid_t tid)
{
	labels->length = 0;
	labels->with_tid = tid > 0;
	if (name[0])
		metric_labels_foreign(labels, "thread", name, name_length(metrics, name), "");
	else
		metric_labels_add(labels, "thread", "[unknown]");
	if (tid > 0)
		metric_labels_number(labels, "tid", (unsigned long)tid);
}

/* Sets the labels that all rows of a thread begin with. */
static void thread_begin(struct taking *taking, const char *labels, bool with_tid)
{
	taking->labels.length = taking->n_labels = strlen(labels);
	taking->labels.with_tid = with_tid;
	memcpy(taking->labels.text, labels, taking->n_labels);
	taking->thread = metric_row_touch(taking->metrics, METRIC_THREAD, NULL, &taking->labels);
}

static void events_add(struct taking *taking, enum metric_kind kind, uint64_t count, uint64_t total,
		       uint64_t max)
{
	struct metric_row *row = metric_row_touch(taking->metrics, kind, taking->thread,
						  &taking->labels);

	taking->labels.length = taking->n_labels;
	if (!row)
		return;
	metric_row_sum(row, EVENTS_COUNT, count);
	metric_row_sum(row, EVENTS_TOTAL, total);
	metric_row_max(row, EVENTS_MAX, max);
}

static void call_label(struct taking *taking, int64_t number)
{
	char buffer[32];

	metric_labels_add(&taking->labels, "syscall",
			  number < 0 ? "[unknown]"
				     : text_call(taking->sample, (uint32_t)number, buffer));
}

static void call_label_other(struct taking *taking)
{
	taking->labels.length = taking->n_labels;
	metric_labels_add(&taking->labels, "syscall", OTHER);
}

/* A call that has a row keeps it, or else that of the others would shrink. */
static void call_take(struct taking *taking, const struct call_row *call)
{
	const unsigned int most = taking->metrics->options.max_syscalls;
	uint64_t *rows = &taking->thread->values[THREAD_CALL_ROWS];

	call_label(taking, call->number);
	if (most && !metric_row_find(taking->metrics, METRIC_CALL, &taking->labels)) {
		if (*rows >= most)
			call_label_other(taking);
		else
			++*rows;
	}
	events_add(taking, METRIC_CALL, call->count, call->total, call->max);
}

static int call_by_total(const void *a, const void *b)
{
	const struct call_row *const *x = a, *const *y = b;

	if ((*x)->total != (*y)->total)
		return (*x)->total < (*y)->total ? 1 : -1;
	return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

static void calls_take(struct taking *taking, const struct thread_row *thread)
{
	const struct call_row **calls;

	if (!thread->n_calls)
		return;
	calls = calloc(thread->n_calls, sizeof(struct call_row *));
	if (!calls) {
		taking->metrics->failed = true;
		return;
	}
	for (size_t i = 0; i < thread->n_calls; i++)
		calls[i] = &thread->calls[i];
	qsort(calls, thread->n_calls, sizeof(*calls), call_by_total);
	for (size_t i = 0; i < thread->n_calls; i++)
		call_take(taking, calls[i]);
	free(calls);
}

/* The label of a call in another list, which follows what METRIC_CALL has. */
static void call_label_like(struct taking *taking, int64_t number)
{
	call_label(taking, number);
	if (taking->metrics->options.max_syscalls &&
	    !metric_row_find(taking->metrics, METRIC_CALL, &taking->labels))
		call_label_other(taking);
}

static void open_calls_take(struct taking *taking, const struct thread_row *thread)
{
	for (size_t i = 0; i < thread->n_open; i++) {
		const struct open_call *call = &thread->open[i];

		call_label_like(taking, call->number);
		/* An open call of several threads is one that each of them is in. */
		events_add(taking, METRIC_OPEN_CALL, thread->members, call->inside, 0);
	}
}

/* A row for durations that are distributed, whose sum is total. */
static void times_add(struct taking *taking, enum metric_kind kind,
		      const struct distribution *times, uint64_t total)
{
	struct metric_row *row = metric_row_touch(taking->metrics, kind, taking->thread,
						  &taking->labels);

	taking->labels.length = taking->n_labels;
	if (row)
		metric_row_distribution(row, times, total);
}

/* Of which there was no room, is in neither count nor sum: before threads are merged it
 * can be told. After calls_take(). */
static void durations_take(struct taking *taking, const struct thread_row *thread)
{
	if (thread->run_times.n) {
		metric_labels_add(&taking->labels, "state", "running");
		times_add(taking, METRIC_PERIOD_TIMES, &thread->run_times, thread->run.total);
	}
	if (thread->ready_times.n) {
		metric_labels_add(&taking->labels, "state", "ready");
		times_add(taking, METRIC_PERIOD_TIMES, &thread->ready_times, thread->ready.total);
	}
	for (size_t i = 0; i < thread->n_calls; i++) {
		const struct call_row *call = &thread->calls[i];

		if (!call->times.n)
			continue;
		call_label_like(taking, call->number);
		times_add(taking, METRIC_CALL_TIMES, &call->times, call->total);
	}
}

static void irqs_take(struct taking *taking, enum metric_kind kind, const struct irq_row *irqs,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct irq_row *irq = &irqs[i];

		if (kind == METRIC_SOFTIRQ && !irq->name[0])
			metric_labels_number(&taking->labels, "vector", irq->vector);
		else
			metric_labels_foreign(
				&taking->labels, kind == METRIC_SOFTIRQ ? "vector" : "action",
				irq->name[0] ? irq->name : "[unknown]", sizeof(irq->name),
				irq->unhandled ? " [unhandled]" : "");
		events_add(taking, kind, irq->count, irq->total, irq->max);
	}
}

static void period_take(struct metric_row *row, enum metric_period period, uint64_t count,
			uint64_t total, uint64_t max)
{
	metric_row_sum(row, THREAD_PERIODS + period, count);
	metric_row_sum(row, THREAD_PERIOD_NS + period, total);
	metric_row_max(row, THREAD_MAX + period, max);
}

static uint64_t cpus_count(const struct thread_row *thread)
{
	uint64_t count = thread->cpus_beyond;

	for (size_t i = 0; i < KD_CPU_WORDS; i++)
		count += (uint64_t)__builtin_popcountll(thread->cpus[i]);
	return count;
}

static void books_take(struct metric_row *row, const struct thread_row *thread)
{
	for (unsigned int i = 0; i < LEDGER_STATES; i++)
		metric_row_sum(row, i, thread->ledger.ns[i]);
	if (thread->ledger.exec_known)
		metric_row_sum(row, THREAD_EXEC, thread->ledger.exec);
	period_take(row, PERIOD_RUNNING, thread->run.count, thread->run.total, thread->run.max);
	period_take(row, PERIOD_READY, thread->ready.count, thread->ready.total, thread->ready.max);
	period_take(row, PERIOD_STOPPED, thread->stopped.count, thread->stopped.total,
		    thread->stopped.max);
	period_take(row, PERIOD_LONG_POLL, thread->long_poll.count, thread->long_poll.total,
		    thread->long_poll.max);
	metric_row_sum(row, THREAD_VOLUNTARY, thread->voluntary);
	metric_row_sum(row, THREAD_INVOLUNTARY, thread->involuntary);
	metric_row_sum(row, THREAD_MIGRATIONS, thread->migrations);
	row->values[THREAD_CPUS] = cpus_count(thread);
	row->values[THREAD_MIN_RUNNING] = thread->run.min;
	row->values[THREAD_MIN_LONG_POLL] = thread->long_poll.min;
}

/* A thread, or the sum of several with the same labels. */
static void thread_take(struct taking *taking, const struct thread_row *thread)
{
	if (!taking->thread)
		return;
	books_take(taking->thread, thread);
	calls_take(taking, thread);
	open_calls_take(taking, thread);
	irqs_take(taking, METRIC_HARDIRQ, thread->hardirqs, thread->n_hardirqs);
	irqs_take(taking, METRIC_SOFTIRQ, thread->softirqs, thread->n_softirqs);
}

static uint64_t members_of(const struct thread_row *thread)
{
	return thread->members ? thread->members : 1;
}

/* Those who are alive and those who ended are counted apart; the open calls of several
 * threads are lost when these are merged, so they are taken before. */
static void run_take(struct taking *taking, const struct place *run, size_t length)
{
	struct thread_row sum = { 0 };
	uint64_t alive = 0, ended = 0;
	bool failed = false;

	thread_begin(taking, run->labels, run->with_tid);
	for (size_t i = 0; i < length; i++)
		*(run[i].row->ended ? &ended : &alive) += members_of(run[i].row);
	if (taking->thread) {
		taking->thread->values[THREAD_MEMBERS] = alive;
		metric_row_sum(taking->thread, THREAD_ENDED, ended);
	}
	if (length == 1) {
		thread_take(taking, run->row);
		if (taking->thread)
			durations_take(taking, run->row);
		return;
	}
	for (size_t i = 0; i < length && !failed; i++)
		failed = thread_merge(&sum, run[i].row);
	taking->metrics->failed |= failed;
	sum.n_open = 0;
	thread_take(taking, &sum);
	for (size_t i = 0; i < length && taking->thread; i++) {
		open_calls_take(taking, run[i].row);
		durations_take(taking, run[i].row);
	}
	thread_clear(&sum);
}

/* Numbers in names and TIDs by their value. */
static int place_by_labels(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strverscmp(x->labels, y->labels);

	return order ? order : (x->row > y->row) - (x->row < y->row);
}

static int place_by_tid(const void *a, const void *b)
{
	const struct place *const *x = a, *const *y = b;

	return ((*x)->row->tid > (*y)->row->tid) - ((*x)->row->tid < (*y)->row->tid);
}

static void places_fill(struct taking *taking, struct place *places)
{
	const struct sample *sample = taking->sample;

	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *row = &sample->threads[i];
		bool single = !row->ended && row->members <= 1;

		thread_labels(&taking->labels, taking->metrics, row->name,
			      taking->metrics->options.per_thread && single ? row->tid : 0);
		places[i].row = row;
		places[i].with_tid = taking->labels.with_tid;
		memcpy(places[i].labels, taking->labels.text, taking->labels.length);
		places[i].labels[taking->labels.length] = '\0';
	}
	if (sample->n_threads)
		qsort(places, sample->n_threads, sizeof(*places), place_by_labels);
}

static const char *wait_state(uint32_t state)
{
	switch (state) {
	case KD_BLOCKED:
		return metric_states[LEDGER_BLOCKED];
	case KD_BLOCKED_UNINT:
		return metric_states[LEDGER_BLOCKED_UNINT];
	case KD_STOPPED:
		return metric_states[LEDGER_STOPPED];
	case KD_READY_WOKEN:
		return metric_states[LEDGER_READY_WOKEN];
	case KD_READY_PREEMPTED:
		return metric_states[LEDGER_READY_PREEMPTED];
	}
	return "[unknown]";
}

static void trace_take(struct taking *taking, const struct trace_row *trace)
{
	uint64_t ns = trace_duration(&taking->sample->traces, trace, taking->sample->end);
	struct metric_row *row;

	switch (trace->kind) {
	case TRACE_CALL:
		call_label_like(taking, trace->call);
		events_add(taking, METRIC_SLOW_CALL, 1, ns, ns);
		break;
	case TRACE_WAIT:
		metric_labels_add(&taking->labels, "state", wait_state(trace->state));
		events_add(taking, METRIC_WAIT, 1, ns, ns);
		break;
	default:
		metric_labels_add(
			&taking->labels, "mode",
			metric_states[trace->state == KD_USER ? LEDGER_USER : LEDGER_KERNEL]);
		row = metric_row_touch(taking->metrics, METRIC_PROFILE, taking->thread,
				       &taking->labels);
		taking->labels.length = taking->n_labels;
		if (row)
			metric_row_sum(row, ONE_VALUE, 1);
	}
}

/* Traces have the labels of their thread; by the name they have themselves, if it was
 * folded with others. */
static void traces_take(struct taking *taking, const struct place *places)
{
	const struct sample *sample = taking->sample;
	const struct place **by_tid = calloc(sample->n_threads + 1, sizeof(struct place *));

	if (!by_tid) {
		taking->metrics->failed = true;
		return;
	}
	for (size_t i = 0; i < sample->n_threads; i++)
		by_tid[i] = &places[i];
	qsort(by_tid, sample->n_threads, sizeof(*by_tid), place_by_tid);
	for (size_t i = 0; i < sample->traces.n; i++) {
		const struct trace_row *trace = &sample->traces.rows[i];
		const struct thread_row wanted = { .tid = trace->tid };
		const struct place key = { .row = &wanted }, *key_at = &key, **found;
		char labels[THREAD_LABELS];

		found = bsearch(&key_at, by_tid, sample->n_threads, sizeof(*by_tid), place_by_tid);
		if (found) {
			thread_begin(taking, (*found)->labels, (*found)->with_tid);
		} else {
			thread_labels(&taking->labels, taking->metrics, trace->name, 0);
			memcpy(labels, taking->labels.text, taking->labels.length);
			labels[taking->labels.length] = '\0';
			thread_begin(taking, labels, false);
		}
		if (taking->thread)
			trace_take(taking, trace);
	}
	free(by_tid);
}

void metric_take_threads(struct metrics *metrics, const struct sample *sample)
{
	struct place *places = calloc(sample->n_threads + 1, sizeof(*places));
	struct taking taking = { .metrics = metrics, .sample = sample };
	size_t length;

	if (!places) {
		metrics->failed = true;
		return;
	}
	places_fill(&taking, places);
	for (size_t i = 0; i < sample->n_threads; i += length) {
		for (length = 1; i + length < sample->n_threads; length++)
			if (strcmp(places[i].labels, places[i + length].labels))
				break;
		run_take(&taking, &places[i], length);
	}
	if (sample->traces.n)
		traces_take(&taking, places);
	free(places);
}
