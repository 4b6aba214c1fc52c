/* SPDX-License-Identifier: Apache-2.0 */
/* Adding up, folding and sorting what was collected in a window. Sums stop at
 * the largest number instead of wrapping: a figure that is too large to be true
 * is seen, one that wrapped is believed. */
#include "sample.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* How a row takes part in folding: alone, with those that ended, or with the
 * silent ones of its state (FOLD_SILENT + enum ledger_state). */
enum { FOLD_ALONE, FOLD_ENDED, FOLD_SILENT };

struct place {
	struct thread_row *row;
	unsigned int class;
};

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int three_way(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

uint64_t sample_lost(const struct sample *sample)
{
	uint64_t lost = add(add(sample->skipped_runs, sample->torn), sample->hidden);

	for (size_t i = 0; i < KD_LOSSES; i++)
		lost = add(lost, sample->losses[i]);
	return add(lost, traces_lost(&sample->traces));
}

uint64_t ledger_sum(const struct ledger *ledger)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < LEDGER_STATES; i++)
		sum = add(sum, ledger->ns[i]);
	return sum;
}

uint64_t ledger_running(const struct ledger *ledger)
{
	return add(add(ledger->ns[LEDGER_USER], ledger->ns[LEDGER_KERNEL]),
		   add(ledger->ns[LEDGER_HARDIRQ], ledger->ns[LEDGER_SOFTIRQ]));
}

static bool has_events(const struct thread_row *thread)
{
	return thread->ended || thread->n_calls || thread->n_hardirqs || thread->n_softirqs ||
	       thread->run.count || thread->long_poll.count || thread->ready.count ||
	       thread->stopped.count || thread->voluntary || thread->involuntary ||
	       thread->migrations;
}

bool thread_is_silent(const struct thread_row *thread, enum ledger_state *state)
{
	const struct ledger *ledger = &thread->ledger;

	if (!ledger->life || has_events(thread))
		return false;
	/* A call that was entered or left inside the window is an event. */
	for (size_t i = 0; i < thread->n_open; i++)
		if (!thread->open[i].at_start || !thread->open[i].at_end)
			return false;
	for (unsigned int i = 0; i < LEDGER_STATES; i++) {
		if (!ledger->ns[i])
			continue;
		if (ledger->ns[i] != ledger->life || ledger_sum(ledger) != ledger->life)
			return false;
		*state = (enum ledger_state)i;
		return true;
	}
	return false;
}

static int call_by_number(const void *a, const void *b)
{
	const struct call_row *x = a, *y = b;

	return three_way(x->number, y->number);
}

static int call_by_total(const void *a, const void *b)
{
	const struct call_row *x = a, *y = b;
	int order = three_way(y->total, x->total);

	return order ? order : call_by_number(a, b);
}

static int irq_by_name(const struct irq_row *x, const struct irq_row *y)
{
	int order = three_way(x->vector, y->vector);

	if (!order)
		order = strncmp(x->name, y->name, sizeof(x->name));
	return order ? order : three_way(x->unhandled, y->unhandled);
}

static int irq_by_total(const void *a, const void *b)
{
	const struct irq_row *x = a, *y = b;
	int order = three_way(y->total, x->total);

	return order ? order : irq_by_name(x, y);
}

static void calls_order_by_number(struct thread_row *thread)
{
	for (size_t i = 1; i < thread->n_calls; i++) {
		if (thread->calls[i - 1].number <= thread->calls[i].number)
			continue;
		qsort(thread->calls, thread->n_calls, sizeof(*thread->calls), call_by_number);
		return;
	}
}

/* The first call whose number is not below this one. */
static size_t calls_find(const struct thread_row *thread, uint32_t number)
{
	size_t low = 0, high = thread->n_calls;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->calls[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* An empty row. */
static int calls_insert(struct thread_row *thread, size_t at, uint32_t number)
{
	size_t rows = thread->n_calls - at;
	struct call_row *calls = reallocarray(thread->calls, thread->n_calls + 1, sizeof(*calls));

	if (!calls)
		return -ENOMEM;
	thread->calls = calls;
	memmove(&calls[at + 1], &calls[at], rows * sizeof(*calls));
	calls[at] = (struct call_row){ .number = number };
	thread->n_calls++;
	return 0;
}

/* Rows that others are merged into keep their calls in the order of their
 * numbers: the next merge then needs no sorting. */
static int calls_merge(struct thread_row *into, const struct thread_row *from)
{
	calls_order_by_number(into);
	for (size_t i = 0; i < from->n_calls; i++) {
		const struct call_row *call = &from->calls[i];
		size_t at = calls_find(into, call->number);
		struct call_row *sum;

		if ((at == into->n_calls || into->calls[at].number != call->number) &&
		    calls_insert(into, at, call->number))
			return -ENOMEM;
		sum = &into->calls[at];
		if (distribution_merge(&sum->times, &call->times))
			return -ENOMEM;
		sum->count = add(sum->count, call->count);
		sum->total = add(sum->total, call->total);
		sum->max = larger(sum->max, call->max);
	}
	return 0;
}

static struct irq_row *irqs_find(struct irq_row *rows, size_t n, const struct irq_row *irq)
{
	for (size_t i = 0; i < n; i++)
		if (!irq_by_name(&rows[i], irq))
			return &rows[i];
	return NULL;
}

/* A thread has few interrupts: looking at each is the fastest way. */
static int irqs_merge(struct irq_row **rows, size_t *n, const struct irq_row *from, size_t n_from)
{
	for (size_t i = 0; i < n_from; i++) {
		struct irq_row *sum = irqs_find(*rows, *n, &from[i]);

		if (!sum) {
			struct irq_row *more = reallocarray(*rows, *n + 1, sizeof(*more));

			if (!more)
				return -ENOMEM;
			more[(*n)++] = from[i];
			*rows = more;
			continue;
		}
		sum->count = add(sum->count, from[i].count);
		sum->total = add(sum->total, from[i].total);
		sum->max = larger(sum->max, from[i].max);
	}
	return 0;
}

static void span_merge(struct kd_span *into, const struct kd_span *from)
{
	if (!from->count)
		return;
	if (!into->count || from->min < into->min)
		into->min = from->min;
	into->count = add(into->count, from->count);
	into->total = add(into->total, from->total);
	into->max = larger(into->max, from->max);
}

static void count_merge(struct kd_count *into, const struct kd_count *from)
{
	into->count = add(into->count, from->count);
	into->total = add(into->total, from->total);
	into->max = larger(into->max, from->max);
}

static void ledger_merge(struct ledger *into, const struct ledger *from)
{
	into->life = add(into->life, from->life);
	for (size_t i = 0; i < LEDGER_STATES; i++)
		into->ns[i] = add(into->ns[i], from->ns[i]);
	into->exec_known = into->exec_known && from->exec_known;
	into->exec = into->exec_known ? add(into->exec, from->exec) : 0;
}

/* True if the thread spent the whole window in one known call. */
static bool in_one_call(const struct thread_row *thread)
{
	return thread->n_open == 1 && thread->open[0].at_start && thread->open[0].at_end &&
	       thread->open[0].number >= 0;
}

/* One open call can speak for all only if it is everyone's. */
static void open_merge(struct thread_row *into, const struct thread_row *from)
{
	struct open_call *sum = &into->open[0];
	const struct open_call *call = &from->open[0];

	if (!in_one_call(into) || !in_one_call(from) || sum->number != call->number) {
		into->n_open = 0;
		return;
	}
	if (call->since < sum->since)
		sum->since = call->since;
	sum->until = sum->until && call->until ? larger(sum->until, call->until) : 0;
	sum->inside = add(sum->inside, call->inside);
}

/* A row without members is the empty sum: it becomes what is added to it. */
static void identity_merge(struct thread_row *into, const struct thread_row *from)
{
	if (into->members) {
		open_merge(into, from);
		return;
	}
	into->tid = from->tid;
	memcpy(into->name, from->name, sizeof(into->name));
	into->ended = from->ended;
	into->ledger.exec_known = true;
	memcpy(into->open, from->open, sizeof(into->open));
	into->n_open = from->n_open;
}

int thread_merge(struct thread_row *into, const struct thread_row *from)
{
	if (calls_merge(into, from) || distribution_merge(&into->run_times, &from->run_times) ||
	    distribution_merge(&into->ready_times, &from->ready_times) ||
	    irqs_merge(&into->hardirqs, &into->n_hardirqs, from->hardirqs, from->n_hardirqs) ||
	    irqs_merge(&into->softirqs, &into->n_softirqs, from->softirqs, from->n_softirqs))
		return -ENOMEM;

	identity_merge(into, from);
	ledger_merge(&into->ledger, &from->ledger);
	span_merge(&into->run, &from->run);
	span_merge(&into->long_poll, &from->long_poll);
	count_merge(&into->ready, &from->ready);
	count_merge(&into->stopped, &from->stopped);
	into->voluntary = add(into->voluntary, from->voluntary);
	into->involuntary = add(into->involuntary, from->involuntary);
	into->migrations = add(into->migrations, from->migrations);
	for (size_t i = 0; i < KD_CPU_WORDS; i++)
		into->cpus[i] |= from->cpus[i];
	into->cpus_beyond |= from->cpus_beyond;
	if (__builtin_add_overflow(into->members, from->members, &into->members))
		into->members = UINT_MAX;
	return 0;
}

static int row_by_name(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;
	int order = strncmp(x->name, y->name, sizeof(x->name));

	return order ? order : (x->tid > y->tid) - (x->tid < y->tid);
}

static int place_by_name(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strncmp(x->row->name, y->row->name, sizeof(x->row->name));

	if (!order)
		order = three_way(x->class, y->class);
	return order ? order : row_by_name(x->row, y->row);
}

static unsigned int fold_class(const struct thread_row *thread)
{
	enum ledger_state state;

	if (thread->ended)
		return FOLD_ENDED;
	return thread_is_silent(thread, &state) ? FOLD_SILENT + state : FOLD_ALONE;
}

/* The number of places from the first on that could share its row. */
static size_t run_length(const struct place *first, size_t n)
{
	size_t length = 1;

	while (length < n && first[length].class == first->class &&
	       !strncmp(first[length].row->name, first->row->name, sizeof(first->row->name)))
		length++;
	return length;
}

/* Merges a run into its first row and leaves the others without members. */
static int run_fold(const struct place *run, size_t length)
{
	if (run->class == FOLD_ALONE || (run->class >= FOLD_SILENT && length <= SAMPLE_FOLD))
		return 0;
	for (size_t i = 1; i < length; i++) {
		if (thread_merge(run->row, run[i].row))
			return -ENOMEM;
		thread_clear(run[i].row);
	}
	return 0;
}

static int threads_fold(struct sample *sample)
{
	struct place *places = calloc(sample->n_threads, sizeof(*places));
	size_t left = 0, length;
	int err = 0;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < sample->n_threads; i++) {
		struct thread_row *row = &sample->threads[i];

		if (!row->members)
			row->members = 1;
		places[i] = (struct place){ .row = row, .class = fold_class(row) };
	}
	qsort(places, sample->n_threads, sizeof(*places), place_by_name);
	for (size_t i = 0; i < sample->n_threads && !err; i += length) {
		length = run_length(&places[i], sample->n_threads - i);
		err = run_fold(&places[i], length);
	}
	free(places);

	for (size_t i = 0; i < sample->n_threads; i++)
		if (sample->threads[i].members)
			sample->threads[left++] = sample->threads[i];
	sample->n_threads = left;
	return err;
}

int sample_finish(struct sample *sample)
{
	traces_finish(&sample->traces);
	if (!sample->n_threads)
		return 0;
	if (threads_fold(sample))
		return -ENOMEM;

	for (size_t i = 0; i < sample->n_threads; i++) {
		struct thread_row *row = &sample->threads[i];

		if (row->n_calls)
			qsort(row->calls, row->n_calls, sizeof(*row->calls), call_by_total);
		if (row->n_hardirqs)
			qsort(row->hardirqs, row->n_hardirqs, sizeof(*row->hardirqs), irq_by_total);
		if (row->n_softirqs)
			qsort(row->softirqs, row->n_softirqs, sizeof(*row->softirqs), irq_by_total);
	}
	qsort(sample->threads, sample->n_threads, sizeof(*sample->threads), row_by_name);
	return 0;
}

void thread_clear(struct thread_row *thread)
{
	for (size_t i = 0; i < thread->n_calls; i++)
		distribution_clear(&thread->calls[i].times);
	free(thread->calls);
	distribution_clear(&thread->run_times);
	distribution_clear(&thread->ready_times);
	free(thread->hardirqs);
	free(thread->softirqs);
	memset(thread, 0, sizeof(*thread));
}

int sample_add_upcalls(struct sample *sample, const struct upcall_row *row)
{
	void *rows = reallocarray(sample->upcalls, sample->n_upcalls + 1, sizeof(*row));

	if (!rows)
		return -ENOMEM;
	sample->upcalls = rows;
	sample->upcalls[sample->n_upcalls++] = *row;
	return 0;
}

void sample_clear(struct sample *sample)
{
	for (size_t i = 0; i < sample->n_threads; i++)
		thread_clear(&sample->threads[i]);
	free(sample->threads);
	free(sample->upcalls);
	traces_clear(&sample->traces);
	memset(sample, 0, sizeof(*sample));
}
