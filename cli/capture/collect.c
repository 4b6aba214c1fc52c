// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "collect.h"

#include <errno.h>
#include <search.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ledger.h"

#define READ_TRIES 8

struct collector {
	struct session *session;
	pid_t pid;
	struct thread_row *rows; /* being built: row_of[slot] - 1 is a thread's */
	size_t n_rows, room;
	uint32_t *row_of;
	void *ended;        /* tsearch(3) tree of struct thread_row, by name */
	size_t n_ended;     /* names in it */
	uint64_t ended_gen; /* the window in which they have ended */
	uint64_t torn;
	struct session_view view; /* the window being read */
};

static int row_compare(const void *a, const void *b)
{
	const struct thread_row *left = a, *right = b;

	return strncmp(left->name, right->name, sizeof(left->name));
}

static void row_free(void *row)
{
	thread_clear(row);
	free(row);
}

struct collector *collector_new(struct session *session, pid_t pid)
{
	struct collector *collector = calloc(1, sizeof(*collector));

	if (!collector)
		return NULL;
	collector->session = session;
	collector->pid = pid;
	collector->row_of = calloc(session_view(session).slots, sizeof(*collector->row_of));
	if (!collector->row_of) {
		free(collector);
		return NULL;
	}
	return collector;
}

static void rows_clear(struct collector *collector)
{
	for (size_t i = 0; i < collector->n_rows; i++)
		thread_clear(&collector->rows[i]);
	collector->n_rows = 0;
	memset(collector->row_of, 0,
	       session_view(collector->session).slots * sizeof(*collector->row_of));
}

static void ended_clear(struct collector *collector)
{
	tdestroy(collector->ended, row_free);
	collector->ended = NULL;
	collector->n_ended = 0;
	collector->ended_gen = 0;
	collector->torn = 0;
}

void collector_reset(struct collector *collector)
{
	uint64_t before[KD_LOSSES];

	ended_clear(collector);
	session_losses(collector->session, before);
	session_resynced(collector->session);
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	ended_clear(collector);
	rows_clear(collector);
	free(collector->rows);
	free(collector->row_of);
	free(collector);
}

static struct thread_row *row_new(struct collector *collector)
{
	if (collector->n_rows == collector->room) {
		size_t room = collector->room ? 2 * collector->room : 64;
		void *rows = reallocarray(collector->rows, room, sizeof(*collector->rows));

		if (!rows)
			return NULL;
		collector->rows = rows;
		collector->room = room;
	}
	memset(&collector->rows[collector->n_rows], 0, sizeof(*collector->rows));
	return &collector->rows[collector->n_rows++];
}

static struct call_row call_of(uint32_t number, const struct kd_count *count)
{
	return (struct call_row){
		.number = number,
		.count = count->count,
		.total = count->total,
		.max = count->max,
	};
}

static int calls_read(struct collector *collector, struct thread_row *row, uint32_t slot,
		      const struct kd_thread *thread)
{
	const struct session_view *view = &collector->view;
	const struct kd_cell *cells = view->records[slot].calls;
	size_t n = 0;
	int error = 0;

	for (uint32_t i = 0; i < KD_CALLS; i++)
		n += cells[i].gen == view->gen && thread->call_keys[i];
	row->calls = n ? malloc(n * sizeof(*row->calls)) : NULL;
	if (n && !row->calls)
		return -ENOMEM;
	for (uint32_t i = 0; i < KD_CALLS && row->n_calls < n && !error; i++) {
		const struct kd_count count = { cells[i].count, cells[i].total, cells[i].max };
		struct call_row *call = &row->calls[row->n_calls];

		if (cells[i].gen != view->gen || !thread->call_keys[i])
			continue;
		*call = call_of(thread->call_keys[i] - 1, &count);
		row->n_calls++;
		error = session_durations(collector->session, view, slot, i, &call->times);
	}
	return error;
}

static int durations_read(struct collector *collector, struct thread_row *row, uint32_t slot)
{
	return session_durations(collector->session, &collector->view, slot, KD_HISTOGRAM_RUN,
				 &row->run_times)
		       ?: session_durations(collector->session, &collector->view, slot,
					    KD_HISTOGRAM_READY, &row->ready_times);
}

static void hardirq_name(struct session *session, int place, const struct kd_thread *thread,
			 struct irq_row *row)
{
	static const char *const vectors[KD_VECTORS] = {
		[KD_VECTOR_LOCAL_TIMER] = "local_timer",
		[KD_VECTOR_RESCHEDULE] = "reschedule",
		[KD_VECTOR_CALL_FUNCTION] = "call_function",
		[KD_VECTOR_CALL_FUNCTION_SINGLE] = "call_function_single",
		[KD_VECTOR_IRQ_WORK] = "irq_work",
		[KD_VECTOR_THERMAL] = "thermal_apic",
		[KD_VECTOR_NMI] = "nmi",
	};
	char name[KD_IRQ_NAME_LEN] = "other";
	uint64_t key = 0;

	if (place < KD_VECTORS) {
		snprintf(name, sizeof(name), "%s", vectors[place]);
	} else if (place < KD_VECTORS + KD_LINES) {
		key = thread->line_keys[place - KD_VECTORS];
		session_irq_name(session, key & ~KD_IRQ_UNHANDLED, name);
	}
	row->unhandled = key & KD_IRQ_UNHANDLED;
	if (*name)
		snprintf(row->name, sizeof(row->name), "%s", name);
	else
		snprintf(row->name, sizeof(row->name), "irq %u", (uint32_t)key);
}

static void softirq_name(uint32_t vector, struct irq_row *row)
{
	static const char *const names[] = { "hi",       "timer",   "net_tx", "net_rx",  "block",
					     "irq_poll", "tasklet", "sched",  "hrtimer", "rcu" };

	row->vector = vector;
	if (vector < sizeof(names) / sizeof(*names))
		snprintf(row->name, sizeof(row->name), "%s", names[vector]);
	else
		snprintf(row->name, sizeof(row->name), "<unknown:%u>", vector);
}

static int irqs_keep(struct irq_row **into, size_t *count, const struct irq_row *rows, size_t n)
{
	*count = 0;
	if (!n)
		return 0;
	*into = malloc(n * sizeof(*rows));
	if (!*into)
		return -ENOMEM;
	memcpy(*into, rows, n * sizeof(*rows));
	*count = n;
	return 0;
}

static int irqs_read(struct collector *collector, struct thread_row *row,
		     const struct kd_thread *thread, const struct kd_record *record, uint64_t gen)
{
	struct irq_row rows[KD_HARDIRQS > KD_SOFTIRQS ? KD_HARDIRQS : KD_SOFTIRQS];
	size_t n = 0;
	int error;

	for (int i = 0; i < KD_HARDIRQS; i++) {
		const struct kd_cell *cell = &record->hardirqs[i];

		if (cell->gen != gen)
			continue;
		rows[n] = (struct irq_row){ .count = cell->count,
					    .total = cell->total,
					    .max = cell->max };
		hardirq_name(collector->session, i, thread, &rows[n++]);
	}
	error = irqs_keep(&row->hardirqs, &row->n_hardirqs, rows, n);
	if (error)
		return error;
	n = 0;
	for (uint32_t i = 0; i < KD_SOFTIRQS; i++) {
		const struct kd_cell *cell = &record->softirqs[i];

		if (cell->gen != gen)
			continue;
		rows[n] = (struct irq_row){ .count = cell->count,
					    .total = cell->total,
					    .max = cell->max };
		softirq_name(i, &rows[n++]);
	}
	return irqs_keep(&row->softirqs, &row->n_softirqs, rows, n);
}

/* Copies a thread and the plain part of its record until no event came between
 * the two. */
static bool slot_read(const struct session_view *view, uint32_t slot, struct kd_thread *thread,
		      struct kd_record *record)
{
	const volatile struct kd_thread *live = &view->threads[slot];
	size_t head = offsetof(struct kd_record, hardirqs);

	for (int i = 0; i < READ_TRIES; i++) {
		if (i)
			sched_yield();
		memcpy(thread, &view->threads[slot], sizeof(*thread));
		memcpy(record, &view->records[slot], head);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (live->since == thread->since && live->state == thread->state &&
		    live->call == thread->call)
			return true;
	}
	return false;
}

/* Times in the sample are those of CLOCK_MONOTONIC; 0 stays "not known". */
static void open_calls_shift(struct thread_row *row, uint64_t epoch)
{
	for (size_t i = 0; i < row->n_open; i++) {
		if (row->open[i].since)
			row->open[i].since += epoch;
		if (row->open[i].until)
			row->open[i].until += epoch;
	}
}

/* Returns 1, 0 if the thread did not live in the window, or a negative errno. */
static int row_read(struct collector *collector, const struct session_view *view, uint32_t slot,
		    struct thread_row *row)
{
	const struct ledger_window window = {
		.start = view->start,
		.end = view->end,
		.gen = view->gen,
		.has_readings = view->opened_by < 0 && view->closed_by < 0,
	};
	struct kd_record record;
	struct kd_thread thread;
	int result, error;

	for (int i = 0; i < READ_TRIES; i++) {
		bool whole = slot_read(view, slot, &thread, &record);

		result = ledger_fill(&row->ledger, &thread, &record, &window);
		if (whole && result >= 0)
			break;
		session_settle(collector->session);
	}
	if (!result)
		return 0;
	if (result < 0 || ledger_sum(&row->ledger) != row->ledger.life)
		collector->torn++;
	row->tid = (pid_t)thread.tid;
	row->members = 1;
	row->ended = thread.died && thread.died <= view->end;
	memcpy(row->name, thread.comm, sizeof(row->name));
	row->name[sizeof(row->name) - 1] = '\0';
	row->n_open = ledger_open_calls(row->open, &thread, &record, &window);
	open_calls_shift(row, view->epoch);
	if (record.gen == view->gen) {
		row->run = record.run;
		row->long_poll = record.long_poll;
		row->ready = record.ready;
		row->stopped = record.stopped;
		row->voluntary = record.voluntary;
		row->involuntary = record.involuntary;
		row->migrations = record.migrations;
		memcpy(row->cpus, record.cpus, sizeof(row->cpus));
		row->cpus_beyond = record.cpus_beyond;
	}
	if (row->ledger.ns[LEDGER_USER] + row->ledger.ns[LEDGER_KERNEL] &&
	    thread.cpu < KD_CPU_WORDS * 64)
		row->cpus[thread.cpu / 64] |= 1ULL << (thread.cpu % 64);
	error = calls_read(collector, row, slot, &thread) ?: durations_read(collector, row, slot);
	if (!error)
		error = irqs_read(collector, row, &thread, &view->records[slot], view->gen);
	return error ? error : 1;
}

static int overflow_found(void *context, const struct kd_overflow_key *key,
			  const struct kd_count *count)
{
	struct collector *collector = context;
	struct thread_row *row;
	struct call_row *calls;

	if (key->gen != collector->view.gen)
		return session_has_window(collector->session, key->gen) ? 0 : 1;
	if (key->slot >= collector->view.slots || !collector->row_of[key->slot])
		return 0;
	row = &collector->rows[collector->row_of[key->slot] - 1];
	calls = reallocarray(row->calls, row->n_calls + 1, sizeof(*calls));
	if (!calls)
		return -ENOMEM;
	calls[row->n_calls++] = call_of(key->number, count);
	row->calls = calls;
	return 1;
}

/* Adds an ended thread to those of its name; takes over what the row owns. */
static int ended_add(struct collector *collector, struct thread_row *row)
{
	struct thread_row *copy, **found;
	int error;

	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *row;
	found = tsearch(copy, &collector->ended, row_compare);
	if (!found) {
		free(copy);
		return -ENOMEM;
	}
	if (*found == copy) {
		memset(row, 0, sizeof(*row));
		collector->n_ended++;
		return 0;
	}
	free(copy);
	error = thread_merge(*found, row);
	thread_clear(row);
	return error;
}

/* Reads the threads that have ended (or all) into rows. */
static int slots_read(struct collector *collector, const struct session_view *view, bool all)
{
	for (uint32_t slot = 1; slot < view->slots; slot++) {
		uint32_t state = __atomic_load_n(&view->threads[slot].state, __ATOMIC_ACQUIRE);
		struct thread_row *row;
		int result;

		if (!view->threads[slot].task || (!all && state != KD_DEAD))
			continue;
		row = row_new(collector);
		if (!row)
			return -ENOMEM;
		collector->row_of[slot] = (uint32_t)collector->n_rows;
		result = row_read(collector, view, slot, row);
		if (result < 0)
			return result;
	}
	return session_overflow(collector->session, overflow_found, collector);
}

/* Moves the rows of ended threads to those of their names and frees the slots;
 * the other rows stay. */
static int rows_settle(struct collector *collector, const struct session_view *view)
{
	int result = 0;

	for (uint32_t slot = 1; slot < view->slots && !result; slot++) {
		struct thread_row *row;

		if (!collector->row_of[slot])
			continue;
		row = &collector->rows[collector->row_of[slot] - 1];
		if (row->members && row->ended)
			result = ended_add(collector, row);
		if (__atomic_load_n(&view->threads[slot].state, __ATOMIC_ACQUIRE) == KD_DEAD &&
		    view->threads[slot].died <= view->end)
			session_slot_free(collector->session, slot);
	}
	return result;
}

/* Between windows threads that have ended are nobody's. */
static void slots_free(struct collector *collector, const struct session_view *view)
{
	for (uint32_t slot = 1; slot < view->slots; slot++)
		if (__atomic_load_n(&view->threads[slot].state, __ATOMIC_ACQUIRE) == KD_DEAD)
			session_slot_free(collector->session, slot);
}

/* Whoever has ended by now may also be in windows that are closed and have to be
 * read first, and only what ended in the window that is still open belongs to
 * that one. */
static bool window_is_current(const struct collector *collector, uint64_t gen)
{
	struct session_view unread;

	return !session_window_next(collector->session, &unread) &&
	       session_view(collector->session).gen == gen;
}

int collector_drain(struct collector *collector)
{
	struct session_view view = session_view(collector->session);
	int result;

	if (view.gen != collector->ended_gen)
		ended_clear(collector);
	if (!window_is_current(collector, view.gen))
		return 0;
	if (!view.gen) {
		slots_free(collector, &view);
		return 0;
	}
	collector->ended_gen = view.gen;
	collector->view = view;
	result = slots_read(collector, &view, false);
	if (!result && window_is_current(collector, view.gen))
		result = rows_settle(collector, &view);
	rows_clear(collector);
	return result;
}

static unsigned int slots_used(const struct collector *collector)
{
	struct session_view view = session_view(collector->session);
	unsigned int used = 0;

	for (uint32_t slot = 1; slot < view.slots; slot++)
		used += view.threads[slot].task != 0;
	return used;
}

bool collector_is_empty(const struct collector *collector)
{
	return slots_used(collector) == 0;
}

unsigned int collector_hidden(const struct collector *collector, unsigned int threads)
{
	struct session_view view = session_view(collector->session);
	unsigned int used = slots_used(collector);

	/* With all slots taken the others were refused one, and counted. */
	return threads > used && used < view.slots - 1 ? threads - used : 0;
}

/* Moves all rows, those of living threads and of ended names, into the sample. */
static int rows_move(struct collector *collector, struct sample *sample)
{
	size_t n = 0;

	sample->threads = calloc(collector->n_rows + collector->n_ended + 1,
				 sizeof(*sample->threads));
	if (!sample->threads)
		return -ENOMEM;
	for (size_t i = 0; i < collector->n_rows; i++) {
		if (!collector->rows[i].members)
			continue;
		sample->threads[n++] = collector->rows[i];
		memset(&collector->rows[i], 0, sizeof(*collector->rows));
	}
	while (collector->ended) {
		struct thread_row *row = *(struct thread_row **)collector->ended;

		tdelete(row, &collector->ended, row_compare);
		sample->threads[n++] = *row;
		free(row);
	}
	collector->n_ended = 0;
	sample->n_threads = n;
	return 0;
}

int collector_finish(struct collector *collector, const struct session_view *view,
		     struct sample *sample)
{
	int result;

	memset(sample, 0, sizeof(*sample));
	if (view->gen != collector->ended_gen)
		ended_clear(collector);
	collector->view = *view;
	result = slots_read(collector, view, true);
	if (!result)
		result = rows_settle(collector, view);
	if (!result)
		result = rows_move(collector, sample);
	rows_clear(collector);
	sample->pid = collector->pid;
	sample->start = view->start + view->epoch;
	sample->end = view->end + view->epoch;
	sample->start_triggered = view->opened_by >= 0;
	sample->stop_triggered = view->closed_by >= 0;
	sample->started_on = sample->start_triggered ? view->opened_by : 0;
	sample->stopped_on = sample->stop_triggered ? view->closed_by : 0;
	sample->torn = collector->torn;
	sample->skipped_runs = session_losses(collector->session, sample->losses);
	sample->resynced = session_resynced(collector->session);
	sample->absent = session_absences(collector->session, &sample->n_absent);
	if (!result)
		result = session_upcalls(collector->session, view, sample);
	if (!result)
		result = sample_finish(sample);
	ended_clear(collector);
	session_window_release(collector->session, view);
	return result;
}
