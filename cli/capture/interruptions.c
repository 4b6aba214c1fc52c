// SPDX-License-Identifier: Apache-2.0
#include "interruptions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/capture/parts/culprits.h"
#include "cli/capture/session/rings.h"
#include "cli/capture/session/windows.h"
#include "cli/model/interruption.h"
#include "cli/model/ledger.h"
#include "cli/model/words.h"
#include "collect_row.h"
#include "session.h"

/* Interruptions that wait for the end of their window; 35 MB. */
#define ENDED_MAX 200000
/* Time to keep them while no window is open: one may have begun recently. */
#define KEEP_NS (100 * NSEC_PER_MSEC)
/* Rows to search back for steal time: interruptions of other threads may follow it. */
#define FOUND_BEFORE 8

struct interruptions {
	struct session *session;
	uint64_t threshold;
	struct gap *gaps;   /* by slot */
	struct tick *ticks; /* by CPU */
	uint64_t tick_period;
	/* For each thread, in order of their ends. One that goes on at a window's end is open, and
	 * belongs to that window only. */
	struct interruption *ended;
	size_t n, capacity;
	size_t open_from; /* index of the first one of the window being read */
	uint64_t lost;
};

/* Context for reading the ring. */
struct drain {
	struct interruptions *interruptions;
	const struct session_view *view; /* window being read; NULL: none */
	uint64_t irq_ns;                 /* time of an interrupt beyond the measured one */
};

/* Returns the period of ticks, at which the coarse clock advances. 0: unknown, or CPUs that run
 * threads may stop their tick (nohz_full). */
static uint64_t tick_period(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/nohz_full", "re");
	struct timespec period;
	bool has_ticks = true;
	int c;

	if (file) {
		/* "(null)" or an empty line: no such CPU. */
		c = fgetc(file);
		has_ticks = c < '0' || c > '9';
		fclose(file);
	}
	return has_ticks && !clock_getres(CLOCK_MONOTONIC_COARSE, &period) ? clock_ns(&period) : 0;
}

struct interruptions *interruptions_new(struct session *session, uint64_t threshold)
{
	struct interruptions *interruptions = calloc(1, sizeof(*interruptions));

	if (!interruptions)
		return NULL;
	interruptions->session = session;
	interruptions->threshold = threshold;
	interruptions->gaps = calloc(session_window_now(session).slots,
				     sizeof(*interruptions->gaps));
	interruptions->ticks = calloc(session_cpus(session), sizeof(*interruptions->ticks));
	interruptions->tick_period = tick_period();
	if (interruptions->gaps && interruptions->ticks)
		return interruptions;
	interruptions_free(interruptions);
	return NULL;
}

void interruptions_free(struct interruptions *interruptions)
{
	if (!interruptions)
		return;
	free(interruptions->gaps);
	free(interruptions->ticks);
	free(interruptions->ended);
	free(interruptions);
}

/* Names the thread if its slot still belongs to it. */
static void thread_name(const struct kd_thread *thread, struct interruption *interruption)
{
	if ((pid_t)thread->tid == interruption->tid)
		memcpy(interruption->name, thread->comm, sizeof(interruption->name));
}

/* Names what took most of the time, while the tables still have it. */
static void who_name(const struct interruptions *interruptions, const struct kd_interruption *piece,
		     struct interruption *interruption)
{
	struct session_view view = session_window_now(interruptions->session);
	const struct kd_thread *thread = &view.threads[piece->slot];
	struct irq_row irq = { .name = "" };
	struct culprit culprit;

	if (piece->by == KD_BY_HARDIRQ && thread->tid == piece->tid)
		collect_hardirq_name(interruptions->session, (int)piece->who, thread, &irq);
	else if (piece->by == KD_BY_SOFTIRQ && piece->who < SOFTIRQS)
		snprintf(irq.name, sizeof(irq.name), "%s", softirq_names[piece->who]);
	else if (piece->by == KD_BY_FAULT)
		snprintf(irq.name, sizeof(irq.name), "%s", piece->who ? "major" : "minor");
	else if (piece->by == KD_BY_TASK &&
		 culprits_task(session_culprits(interruptions->session), piece->who, &culprit)) {
		memcpy(irq.name, culprit.name, sizeof(culprit.name));
		interruption->who_tid = culprit.tid;
	} else if (piece->by == KD_BY_TASK && piece->who == KD_WHO_IDLE) {
		snprintf(irq.name, sizeof(irq.name), "nobody");
	}
	if (piece->by == KD_BY_TASK)
		interruption->who_others = piece->others;
	snprintf(interruption->who, sizeof(interruption->who), "%.*s", INTERRUPTION_WHO_LEN - 1,
		 irq.name);
}

/* Keeps an ended interruption, or counts it as lost. Returns 0 or -ENOMEM. */
static int ended_add(struct interruptions *interruptions, struct interruption *interruption,
		     uint32_t slot)
{
	uint64_t epoch = session_window_now(interruptions->session).epoch;

	if (interruptions->n == ENDED_MAX) {
		interruptions->lost++;
		return 0;
	}
	interruption->since += epoch;
	interruption->until += epoch;
	thread_name(&session_window_now(interruptions->session).threads[slot], interruption);
	return ARRAY_ADD(interruptions->ended, interruptions->n, interruptions->capacity,
			 *interruption);
}

static int gap_finish(struct interruptions *interruptions, struct gap *gap)
{
	const struct kd_interruption *largest;
	struct interruption interruption;

	if (!gap->until)
		return 0;
	gap_end(gap, &interruption);
	largest = gap_largest(gap, interruption.cause);
	if (largest && interruption.ns >= interruptions->threshold)
		who_name(interruptions, largest, &interruption);
	return ended_add(interruptions, &interruption, gap->last.slot);
}

static int stolen_found(struct interruptions *interruptions, const struct kd_interruption *piece)
{
	struct interruption interruption;

	interruption_stolen(piece, &interruption);
	return ended_add(interruptions, &interruption, piece->slot);
}

/* Checks whether a new record is a late tick: how a stolen CPU looks from inside. Steal time that
 * the hypervisor reports has been added just before. */
static void tick_look(struct interruptions *interruptions, const struct kd_interruption *piece,
		      struct gap *gap)
{
	uint64_t until = piece->since + session_window_now(interruptions->session).epoch, late, ns;

	if (piece->by != KD_BY_HARDIRQ || piece->who != KD_VECTOR_LOCAL_TIMER ||
	    piece->cpu >= session_cpus(interruptions->session))
		return;
	late = ns = tick_note(&interruptions->ticks[piece->cpu], interruptions->tick_period,
			      piece->unticked, piece->since);
	if (!late)
		return;
	for (size_t i = interruptions->n; i && i + FOUND_BEFORE > interruptions->n; i--) {
		struct interruption *row = &interruptions->ended[i - 1];

		if (row->cause != INTERRUPTION_STOLEN || row->tid != (pid_t)piece->tid ||
		    row->until != until)
			continue;
		row->tick_late = late;
		ns -= u64_min(ns, row->ns);
		break;
	}
	if (ns >= TICK_LATE_NS)
		gap_tick_late(gap, late, ns);
}

/* Adds an interruption that goes on at a window's end. Assumes the quota takes time evenly. */
static int open_add(struct interruptions *interruptions, const struct kd_interruption *piece,
		    uint64_t end)
{
	struct kd_interruption begun = *piece;
	struct interruption open;
	struct gap gap = { 0 };

	begun.until = end;
	begun.cpu = begun.from;
	begun.taken = (uint64_t)((double)piece->taken * (double)(end - piece->since) /
				 (double)(piece->until - piece->since));
	gap_add(&gap, &begun, 0);
	gap_end(&gap, &open);
	open.open = true;
	if (begun.by == KD_BY_TASK) /* the kind of fault shows at its end */
		who_name(interruptions, &begun, &open);
	return ended_add(interruptions, &open, begun.slot);
}

/* True if the thread was still off its CPU when the window's threads were read. */
static bool open_exists(const struct interruptions *interruptions, uint32_t tid, uint64_t end)
{
	end += session_window_now(interruptions->session).epoch;
	for (size_t i = interruptions->open_from; i < interruptions->n; i++) {
		const struct interruption *row = &interruptions->ended[i];

		if (row->open && row->tid == (pid_t)tid && row->until == end)
			return true;
	}
	return false;
}

static bool crosses(const struct kd_interruption *piece, uint64_t end)
{
	return piece->since < end && piece->until > end;
}

static int piece_cut(struct interruptions *interruptions, const struct kd_interruption *piece,
		     const struct session_view *view)
{
	return crosses(piece, view->end) ? open_add(interruptions, piece, view->end) : 0;
}

/* Handles a thread that has its CPU back. In unread windows that ended meanwhile, the thread was
 * still without one. */
static int piece_open(const struct drain *drain, const struct kd_interruption *piece)
{
	struct interruptions *interruptions = drain->interruptions;
	struct session_view view;
	int error = 0;

	if (drain->view && crosses(piece, drain->view->end) &&
	    !open_exists(interruptions, piece->tid, drain->view->end))
		error = piece_cut(interruptions, piece, drain->view);
	for (uint32_t bank = 0; bank < KD_MAX_BANKS && !error; bank++)
		if (session_window_at(interruptions->session, bank, &view) && view.gen)
			error = piece_cut(interruptions, piece, &view);
	return error;
}

static int piece_found(void *context, void *data, size_t size)
{
	const struct drain *drain = context;
	const struct kd_interruption *piece = data;
	struct interruptions *interruptions = drain->interruptions;
	struct gap *gap = &interruptions->gaps[piece->slot];
	int error = 0;

	(void)size;
	if (piece->slot >= session_window_now(interruptions->session).slots)
		return 0;
	if (piece->by == KD_BY_HYPERVISOR)
		return stolen_found(interruptions, piece);
	if (!gap_add(gap, piece, drain->irq_ns)) {
		error = gap_finish(interruptions, gap);
		gap_add(gap, piece, drain->irq_ns);
	}
	tick_look(interruptions, piece, gap);
	if (!error && piece->lost)
		error = piece_open(drain, piece);
	return error;
}

/* Forgets interruptions too old for any window. */
static void ended_forget(struct interruptions *interruptions, uint64_t before)
{
	size_t n = 0;

	/* Usually the oldest is still needed. */
	if (!interruptions->n || interruptions->ended[0].until > before)
		return;
	for (size_t i = 0; i < interruptions->n; i++)
		if (interruptions->ended[i].until > before)
			interruptions->ended[n++] = interruptions->ended[i];
	interruptions->n = n;
}

/* view: as in struct drain. */
static int ring_read(struct interruptions *interruptions, const struct session_view *view)
{
	struct drain drain = { interruptions, view, session_entry(interruptions->session)->irq_ns };

	return session_ring_read(interruptions->session, RING_INTERRUPTIONS, piece_found, &drain);
}

int interruptions_drain(struct interruptions *interruptions)
{
	int error;

	if (!interruptions)
		return 0;
	error = ring_read(interruptions, NULL);
	ended_forget(interruptions,
		     session_windows_since(interruptions->session, clock_monotonic() - KEEP_NS));
	return error;
}

/* Finishes gaps that nothing more can join. */
static int gaps_settle(struct interruptions *interruptions, uint64_t before)
{
	uint32_t slots = session_window_now(interruptions->session).slots;
	int error = 0;

	for (uint32_t slot = 0; slot < slots && !error; slot++)
		if (interruptions->gaps[slot].until <= before)
			error = gap_finish(interruptions, &interruptions->gaps[slot]);
	return error;
}

/* Returns who has had the CPU longest so far. Only the iterator sees the task that has it now. */
static uint32_t longest_now(const struct kd_thread *thread, uint64_t end, uint32_t *others)
{
	const struct kd_waiting *waiting = &thread->waiting;
	struct kd_takers takers = waiting->takers;

	if (waiting->iter_mark == waiting->mark && end > waiting->mark)
		kd_taker_add(&takers, waiting->iter_key, end - waiting->mark);
	return kd_taker_longest(&takers, others);
}

/* Returns how long limits took the CPU between the last charge and end, as far as the iterator
 * saw. */
static uint64_t limited_until(const struct kd_waiting *waiting, uint64_t end)
{
	if (waiting->iter_mark != waiting->mark || end < waiting->mark)
		return 0;
	return u64_min(waiting->iter_limited, end - waiting->mark);
}

/* Adds the interruption of a thread that lost its CPU before the window's end, and has not got
 * it back since. */
static int open_read(struct interruptions *interruptions, const struct session_view *view,
		     uint32_t slot)
{
	const struct kd_thread *thread = &view->threads[slot];
	struct kd_interruption piece = {
		.since = __atomic_load_n(&thread->lost_at, __ATOMIC_ACQUIRE),
		.until = u64_max(view->end, thread->waiting.mark),
		.taken = thread->lost_limited + limited_until(&thread->waiting, view->end),
		.slot = slot,
		.tid = thread->tid,
		.from = thread->cpu,
		.by = thread->lost_in_fault ? KD_BY_FAULT : KD_BY_TASK,
	};

	if (!piece.since || piece.since >= view->end || thread->died)
		return 0;
	if (piece.by == KD_BY_TASK)
		piece.who = longest_now(thread, view->end, &piece.others);
	return open_add(interruptions, &piece, view->end);
}

/* Reads threads before the ring: a thread that gets its CPU back in between is then in both. */
static int window_read(struct interruptions *interruptions, const struct session_view *view)
{
	int error = 0;

	interruptions->open_from = interruptions->n;
	for (uint32_t slot = 1; slot < view->slots && !error; slot++)
		error = open_read(interruptions, view, slot);
	return error ?: ring_read(interruptions, view);
}

/* --- The rows of a sample --- */

static int row_by_tid(const void *a, const void *b)
{
	const struct thread_row *const *x = a, *const *y = b;

	return ORDER((*x)->tid, (*y)->tid);
}

/* Sorts the rows of single threads by TID. Returns how many; NULL without memory. */
static struct thread_row **rows_sort(struct sample *sample, size_t *n)
{
	struct thread_row **rows = calloc(sample->n_threads + 1, sizeof(*rows));

	*n = 0;
	for (size_t i = 0; rows && i < sample->n_threads; i++)
		if (sample->threads[i].members == 1)
			rows[(*n)++] = &sample->threads[i];
	ARRAY_SORT(rows, *n, row_by_tid);
	return rows;
}

/* True for a row of more than one thread, all ready throughout without a CPU. */
static bool is_starved(const struct thread_row *row)
{
	enum ledger_state only;

	return row->members > 1 && thread_is_silent(row, &only) && only >= LEDGER_READY_WOKEN &&
	       only <= LEDGER_THROTTLED;
}

/* Returns the row with the thread's figures; NULL: none. */
static struct thread_row *row_of(struct sample *sample, struct thread_row **rows, size_t n,
				 const struct interruption *interruption)
{
	const struct thread_row key = { .tid = interruption->tid }, *at = &key;
	struct thread_row **found = bsearch(&at, rows, n, sizeof(struct thread_row *), row_by_tid);

	for (size_t i = 0; !found && *interruption->name && i < sample->n_threads; i++) {
		struct thread_row *row = &sample->threads[i];

		if ((row->ended || (interruption->open && is_starved(row))) &&
		    !strncmp(row->name, interruption->name, sizeof(row->name)))
			return row;
	}
	return found ? *found : NULL;
}

/* A sample under construction. */
struct filling {
	struct sample *sample;
	struct thread_row **rows; /* by TID */
	size_t n_rows, capacity;  /* capacity: of the sample's list */
};

static void late_tick_add(struct kd_count *ticks, uint64_t since, uint64_t ns)
{
	ticks->count++;
	ticks->total = u64_add(ticks->total, ns);
	if (ns > ticks->max)
		ticks->began = since;
	ticks->max = u64_max(ticks->max, ns);
}

static int sample_add(const struct interruptions *interruptions, struct filling *filling,
		      const struct interruption *interruption)
{
	struct sample *sample = filling->sample;
	struct thread_row *row = row_of(sample, filling->rows, filling->n_rows, interruption);
	int error = row ? interruption_count(&row->interrupted, interruption) : 0;

	if (row && interruption->tick_late)
		late_tick_add(&row->late_ticks, interruption->since, interruption->tick_late);

	if (error || interruption->ns < interruptions->threshold)
		return error;
	return ARRAY_ADD(sample->interruptions, sample->n_interruptions, filling->capacity,
			 *interruption);
}

static int by_start(const void *a, const void *b)
{
	const struct interruption *x = a, *y = b;

	return ORDER(x->since, y->since) ?: ORDER(x->tid, y->tid);
}

static bool is_of(const struct interruption *interruption, const struct sample *sample)
{
	if (interruption->open)
		return interruption->until == sample->end;
	return interruption->until > sample->start && interruption->until <= sample->end;
}

static int sample_fill(const struct interruptions *interruptions, struct filling *filling)
{
	struct sample *sample = filling->sample;
	int error = 0;

	for (size_t i = 0; i < interruptions->n && !error; i++)
		if (is_of(&interruptions->ended[i], sample))
			error = sample_add(interruptions, filling, &interruptions->ended[i]);
	ARRAY_SORT(sample->interruptions, sample->n_interruptions, by_start);
	return error;
}

/* Forgets interruptions that were open at a window's end: they belong to no other window. */
static void open_forget(struct interruptions *interruptions, uint64_t end)
{
	size_t n = 0;

	for (size_t i = 0; i < interruptions->n; i++)
		if (!interruptions->ended[i].open || interruptions->ended[i].until != end)
			interruptions->ended[n++] = interruptions->ended[i];
	interruptions->n = n;
}

int interruptions_collect(struct interruptions *interruptions, const struct session_view *view,
			  struct sample *sample)
{
	struct filling filling = { .sample = sample };
	int error;

	if (!interruptions)
		return 0;
	error = window_read(interruptions, view); /* released already: forget nothing */
	if (!error)
		error = gaps_settle(interruptions, view->end);
	filling.rows = error ? NULL : rows_sort(sample, &filling.n_rows);
	if (!error && !filling.rows)
		error = -ENOMEM;
	if (!error)
		error = sample_fill(interruptions, &filling);
	free(filling.rows);
	open_forget(interruptions, sample->end);
	sample->interruptions_from = interruptions->threshold;
	sample->has_interruptions = true;
	sample->losses[KD_LOSS_INTERRUPTIONS] += interruptions->lost;
	interruptions->lost = 0;
	return error;
}
