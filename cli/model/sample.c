/* SPDX-License-Identifier: Apache-2.0 */
/* Adding up, folding and sorting what was collected in a window. Sums stop at
 * the largest number instead of wrapping: a figure that is too large to be true
 * is seen, one that wrapped is believed. */
#include "sample.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "losses.h"
#include "process.h"
#include "rows.h"
#include "thread_fields.h"

/* How a row takes part in folding: alone, with those that ended, or with the
 * silent ones of its state (FOLD_SILENT + enum ledger_state). */
enum { FOLD_ALONE, FOLD_ENDED, FOLD_SILENT };

struct candidate {
	struct thread_row *row;
	unsigned int class;
};

static int three_way(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

uint64_t sample_lost(const struct sample *sample)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < LOSSES; i++)
		lost = u64_add(lost, loss_count(sample, &losses[i]));
	return lost;
}

bool sample_is_triggered(const struct sample *sample)
{
	return sample->start_triggered || sample->stop_triggered ||
	       (sample->capture &&
		(sample->capture->start_trigger || sample->capture->stop_trigger));
}

uint64_t ledger_sum(const struct ledger *ledger)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < LEDGER_STATES; i++)
		sum = u64_add(sum, ledger->ns[i]);
	return sum;
}

uint64_t ledger_running(const struct ledger *ledger)
{
	static const enum ledger_state running[] = {
		LEDGER_USER,    LEDGER_KERNEL,  LEDGER_FAULT,
		LEDGER_RECLAIM, LEDGER_HARDIRQ, LEDGER_SOFTIRQ
	};
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(running) / sizeof(*running); i++)
		sum = u64_add(sum, ledger->ns[running[i]]);
	return sum;
}

uint64_t ledger_blocked(const struct ledger *ledger)
{
	return u64_add(ledger->ns[LEDGER_BLOCKED], ledger->ns[LEDGER_BLOCKED_UNINT]);
}

struct kd_span thread_period(const struct thread_row *thread, enum open_kind kind)
{
	const struct kd_count *count = kind == OPEN_READY ? &thread->ready : &thread->stopped;

	switch (kind) {
	case OPEN_RUN:
		return thread->run;
	case OPEN_ROUND:
		return thread->long_poll;
	case OPEN_READY:
	case OPEN_STOPPED:
		return (struct kd_span){ count->count, count->total, count->max, 0 };
	default:
		return (struct kd_span){ 0 };
	}
}

static bool has_events(const struct thread_row *thread)
{
	for (size_t i = 0; i < thread->n_calls; i++)
		if (thread->calls[i].count)
			return true;
#define OR_COUNTER(member, key, condition, label) || thread->member
	return thread->ended || thread->n_hardirqs || thread->n_softirqs || thread->run.count ||
	       thread->long_poll.count || thread->ready.count ||
	       thread->stopped.count EACH_THREAD_COUNTER(OR_COUNTER);
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
	return ARRAY_SPLIT(thread->n_calls, i, thread->calls[i].number < number);
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
		if (fields_merge(call_fields, sum, call))
			return -ENOMEM;
	}
	return 0;
}

static bool open_is_like(const struct open_item *x, const struct open_item *y)
{
	return x->kind == y->kind && x->number == y->number && x->at_start == y->at_start &&
	       x->at_end == y->at_end;
}

static void open_merge(struct open_item *into, const struct open_item *from)
{
	if (from->since < into->since)
		into->since = from->since;
	into->until = into->until && from->until ? u64_max(into->until, from->until) : 0;
	into->inside = u64_add(into->inside, from->inside);
	into->length = u64_add(into->length, from->length);
	into->longest = u64_max(into->longest, from->longest);
	if (__builtin_add_overflow(into->count, from->count, &into->count))
		into->count = UINT_MAX;
}

static bool has_call(const struct thread_row *thread, uint32_t number)
{
	for (size_t i = 0; i < thread->n_calls; i++)
		if (thread->calls[i].number == number)
			return true;
	return false;
}

int thread_add_open(struct thread_row *thread, const struct open_item *item)
{
	struct open_item *open;

	if (item->kind == OPEN_CALL && item->number >= 0 &&
	    !has_call(thread, (uint32_t)item->number) &&
	    calls_insert(thread, thread->n_calls, (uint32_t)item->number))
		return -ENOMEM;
	for (size_t i = 0; i < thread->n_open; i++) {
		if (!open_is_like(&thread->open[i], item))
			continue;
		open_merge(&thread->open[i], item);
		return 0;
	}
	open = reallocarray(thread->open, thread->n_open + 1, sizeof(*open));
	if (!open)
		return -ENOMEM;
	thread->open = open;
	open[thread->n_open++] = *item;
	return 0;
}

static bool lock_is_like(const struct lock_row *x, const struct lock_row *y)
{
	return x->address == y->address && x->kind == y->kind && x->holder == y->holder;
}

int thread_add_lock(struct thread_row *thread, const struct lock_row *lock)
{
	struct lock_row *rows, others = *lock;
	size_t at = 0;

	while (at < thread->n_locks && !lock_is_like(&thread->locks[at], lock))
		at++;
	if (at == thread->n_locks && at >= THREAD_LOCKS && lock->address) {
		others.address = 0;
		others.kind = KD_LOCK_NO_OWNER;
		others.holder = others.holder_pid = others.released_by = 0;
		others.slept_in = KD_CALL_NONE;
		return thread_add_lock(thread, &others);
	}
	if (at < thread->n_locks) {
		if (lock->released_by) {
			thread->locks[at].released_by = lock->released_by;
			memcpy(thread->locks[at].released_name, lock->released_name,
			       sizeof(lock->released_name));
		}
		if (lock->meanwhile.asleep)
			thread->locks[at].slept_in = lock->slept_in;
		return fields_merge(lock_fields, &thread->locks[at], lock);
	}
	rows = reallocarray(thread->locks, thread->n_locks + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	thread->locks = rows;
	rows[thread->n_locks++] = *lock;
	return 0;
}

static int locks_merge(struct thread_row *into, const struct thread_row *from)
{
	for (size_t i = 0; i < from->n_locks; i++)
		if (thread_add_lock(into, &from->locks[i]))
			return -ENOMEM;
	return 0;
}

static int lock_by_total(const void *a, const void *b)
{
	const struct lock_row *x = a, *y = b;
	int order = three_way(y->waits.total, x->waits.total);

	if (!order)
		order = three_way(x->address, y->address);
	return order ? order : (x->holder > y->holder) - (x->holder < y->holder);
}

static int opens_merge(struct thread_row *into, const struct thread_row *from)
{
	for (size_t i = 0; i < from->n_open; i++)
		if (thread_add_open(into, &from->open[i]))
			return -ENOMEM;
	return 0;
}

static int culprits_merge(struct thread_row *into, const struct thread_row *from)
{
	for (size_t i = 0; i < from->n_culprits; i++)
		if (culprits_add(&into->culprits, &into->n_culprits, &from->culprits[i]))
			return -ENOMEM;
	return 0;
}

/* The longest first, as with other calls. */
static int open_by_inside(const void *a, const void *b)
{
	const struct open_item *x = a, *y = b;
	int order = (x->kind > y->kind) - (x->kind < y->kind);

	if (!order)
		order = three_way(y->inside, x->inside);
	if (!order)
		order = (x->number > y->number) - (x->number < y->number);
	return order ? order : y->at_start - x->at_start;
}

/* A row without members is the empty sum: it becomes what is added to it. */
static void identity_merge(struct thread_row *into, const struct thread_row *from)
{
	if (into->members)
		return;
	into->tid = from->tid;
	into->pid = from->pid;
	into->process_start = from->process_start;
	memcpy(into->name, from->name, sizeof(into->name));
	into->ended = from->ended;
	into->ledger.exec_known = true;
}

int thread_merge(struct thread_row *into, const struct thread_row *from)
{
	if (calls_merge(into, from) || locks_merge(into, from) || opens_merge(into, from) ||
	    culprits_merge(into, from) || row_lists_merge(thread_fields, into, from))
		return -ENOMEM;
	identity_merge(into, from);
	if (__builtin_add_overflow(into->members, from->members, &into->members))
		into->members = UINT_MAX;
	return fields_merge(thread_fields, into, from);
}

static int row_by_name(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;
	int order = process_compare(x, y);

	if (!order)
		order = strncmp(x->name, y->name, sizeof(x->name));
	return order ? order : (x->tid > y->tid) - (x->tid < y->tid);
}

static int candidate_by_name(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = process_compare(x->row, y->row);

	if (!order)
		order = strncmp(x->row->name, y->row->name, sizeof(x->row->name));
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

/* The number of candidates from the first on that could share its row. */
static size_t run_length(const struct candidate *first, size_t n)
{
	size_t length = 1;

	while (length < n && first[length].class == first->class &&
	       !process_compare(first[length].row, first->row) &&
	       !strncmp(first[length].row->name, first->row->name, sizeof(first->row->name)))
		length++;
	return length;
}

/* Merges a run into its first row and leaves the others without members. */
static int run_fold(const struct candidate *run, size_t length)
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
	struct candidate *candidates = calloc(sample->n_threads, sizeof(*candidates));
	size_t left = 0, length;
	int err = 0;

	if (!candidates)
		return -ENOMEM;
	for (size_t i = 0; i < sample->n_threads; i++) {
		struct thread_row *row = &sample->threads[i];

		if (!row->members)
			row->members = 1;
		candidates[i] = (struct candidate){ .row = row, .class = fold_class(row) };
	}
	qsort(candidates, sample->n_threads, sizeof(*candidates), candidate_by_name);
	for (size_t i = 0; i < sample->n_threads && !err; i += length) {
		length = run_length(&candidates[i], sample->n_threads - i);
		err = run_fold(&candidates[i], length);
	}
	free(candidates);

	for (size_t i = 0; i < sample->n_threads; i++)
		if (sample->threads[i].members)
			sample->threads[left++] = sample->threads[i];
	sample->n_threads = left;
	return err;
}

int sample_finish(struct sample *sample)
{
	traces_finish(&sample->traces);
	if (processes_fold(sample))
		return -ENOMEM;
	if (!sample->n_threads)
		return 0;
	if (threads_fold(sample))
		return -ENOMEM;

	for (size_t i = 0; i < sample->n_threads; i++) {
		struct thread_row *row = &sample->threads[i];

		if (row->n_calls)
			qsort(row->calls, row->n_calls, sizeof(*row->calls), call_by_total);
		if (row->n_locks)
			qsort(row->locks, row->n_locks, sizeof(*row->locks), lock_by_total);
		culprits_sort(row->culprits, row->n_culprits);
		row_lists_sort(thread_fields, row);
		if (row->members > 1 && row->n_open)
			qsort(row->open, row->n_open, sizeof(*row->open), open_by_inside);
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
	for (size_t i = 0; i < INTERRUPTION_SUMS; i++)
		distribution_clear(&thread->interrupted[i].times);
	free(thread->locks);
	free(thread->open);
	free(thread->culprits);
	row_lists_free(thread_fields, thread);
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
	free(sample->processes);
	free(sample->upcalls);
	free(sample->interruptions);
	free(sample->usages);
	free(sample->resent);
	traces_clear(&sample->traces);
	recording_clear(sample->recording);
	free(sample->recording);
	critical_path_clear(&sample->path);
	memset(sample, 0, sizeof(*sample));
}
