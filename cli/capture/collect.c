// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "collect.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/capture/parts/culprits.h"
#include "cli/capture/parts/faults.h"
#include "cli/capture/parts/files.h"
#include "cli/capture/parts/locks.h"
#include "cli/capture/parts/processes.h"
#include "cli/capture/parts/softirqs.h"
#include "cli/capture/parts/upcalls.h"
#include "cli/capture/session/slots.h"
#include "cli/capture/session/windows.h"
#include "cli/model/ledger.h"
#include "cli/model/sample.h"
#include "cli/stack/kernel_symbols.h"
#include "collect_awaited.h"
#include "collect_disks.h"
#include "collect_faulted.h"
#include "collect_frozen.h"
#include "collect_groups.h"
#include "collect_journal.h"
#include "collect_memory.h"
#include "collect_row.h"
#include "collect_workers.h"
#include "session.h"
#include "user_waits.h"

/* Threads that ended in a window, folded by process and name, if they are not apart. */
struct ended {
	uint64_t gen;  /* generation of the window */
	void *by_name; /* tsearch(3) tree of struct thread_row */
	size_t n;      /* names in it */
	uint64_t torn; /* rows read without consistency */
};

struct collector {
	struct session *session;
	const struct capture *capture;
	pid_t pid;
	struct thread_row *rows; /* being built; row_of[slot] - 1: index of a thread's row */
	size_t n_rows, capacity;
	uint32_t *row_of;
	struct ended ended[KD_BANKS]; /* by bank, for its window */
	uint8_t *ended_in;            /* by slot: bits of the banks whose `ended` has its thread */
	struct lock_callers *callers;
	struct kernel_symbols *symbols;
	struct user_waits *user_waits; /* NULL: not wanted */
	uint64_t torn;
	uint64_t walked;   /* generation of the window for which the maps were last walked */
	uint64_t fault_ns; /* last mean time of a timed page fault */
	struct frozen_watch frozen_watch;
	struct disk_limits disk_limits;
	struct quota_watch quota_watch;
	struct memory_watch memory_watch;
	struct disk_watch disk_watch;
	struct journal_watch journal_watch;
	struct awaited_watch awaited;
};

static int row_compare(const void *a, const void *b)
{
	const struct thread_row *left = a, *right = b;

	return process_compare(left, right)
		       ?: strncmp(left->name, right->name, sizeof(left->name))
		       ?: ORDER(left->apart ? left->tid : 0, right->apart ? right->tid : 0);
}

static void row_free(void *row)
{
	thread_clear(row);
	free(row);
}

struct collector *collector_new(struct session *session, struct kernel_symbols *symbols, pid_t pid,
				struct user_waits *user_waits, const struct capture *capture)
{
	struct collector *collector = calloc(1, sizeof(*collector));

	if (!collector)
		return NULL;
	collector->session = session;
	collector->capture = capture;
	collector->symbols = symbols;
	collector->pid = pid;
	collector->user_waits = user_waits;
	collector->row_of = calloc(session_window_now(session).slots, sizeof(*collector->row_of));
	collector->ended_in = calloc(session_window_now(session).slots, 1);
	collector->callers = lock_callers_new();
	collector->awaited.sockets = sockets_open();
	if (!collector->awaited.sockets || !collector->row_of || !collector->ended_in ||
	    !collector->callers) {
		collector_free(collector);
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
	       session_window_now(collector->session).slots * sizeof(*collector->row_of));
}

static void ended_clear(struct ended *ended)
{
	tdestroy(ended->by_name, row_free);
	memset(ended, 0, sizeof(*ended));
}

/* Returns the ended threads of a window; forgets those of the bank's previous window. */
static struct ended *ended_of(struct collector *collector, const struct session_view *view)
{
	struct ended *ended = &collector->ended[view->bank];

	if (ended->gen != view->gen)
		ended_clear(ended);
	ended->gen = view->gen;
	return ended;
}

void collector_reset(struct collector *collector)
{
	uint64_t before[KD_LOSSES];

	for (size_t bank = 0; bank < KD_BANKS; bank++)
		ended_clear(&collector->ended[bank]);
	process_set_fold_forget(session_process_set(collector->session));
	session_losses(collector->session, before);
	session_resynced(collector->session);
}

void collector_rest(struct collector *collector)
{
	session_rest(collector->session);
	memset(collector->ended_in, 0, session_window_now(collector->session).slots);
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	for (size_t bank = 0; bank < KD_BANKS; bank++)
		ended_clear(&collector->ended[bank]);
	if (collector->row_of)
		rows_clear(collector);
	free(collector->rows);
	free(collector->row_of);
	free(collector->ended_in);
	lock_callers_free(collector->callers);
	frozen_clear(&collector->frozen_watch);
	disk_watch_clear(&collector->disk_watch);
	quota_watch_clear(&collector->quota_watch);
	sockets_close(collector->awaited.sockets);
	free(collector);
}

static struct thread_row *row_new(struct collector *collector)
{
	if (ARRAY_GROW(collector->rows, collector->n_rows, collector->capacity))
		return NULL;
	memset(&collector->rows[collector->n_rows], 0, sizeof(*collector->rows));
	return &collector->rows[collector->n_rows++];
}

/* Adds an ended thread to the row of its name; takes over what the row owns. */
static int ended_add(struct ended *ended, struct thread_row *row)
{
	struct thread_row *copy, **found;
	int error;

	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *row;
	found = tsearch(copy, &ended->by_name, row_compare);
	if (!found) {
		free(copy);
		return -ENOMEM;
	}
	if (*found == copy) {
		memset(row, 0, sizeof(*row));
		ended->n++;
		return 0;
	}
	free(copy);
	error = thread_merge(*found, row);
	thread_clear(row);
	return error;
}

static bool is_dead(const struct session_view *view, uint32_t slot)
{
	return __atomic_load_n(&view->threads[slot].state, __ATOMIC_ACQUIRE) == KD_DEAD;
}

static uint8_t bank_bit(const struct session_view *view)
{
	return (uint8_t)(1U << view->bank);
}

/* Reads threads that have ended (or all threads) into rows, except those already in the window's
 * ended ones. */
static int slots_read(struct collector *collector, const struct session_view *view, bool all)
{
	collector->torn = 0;
	for (uint32_t slot = 1; slot < view->slots; slot++) {
		bool dead = is_dead(view, slot);
		struct thread_row *row;
		int result;

		if ((!all && !dead) || !view->threads[slot].task || view->threads[slot].left ||
		    collector->ended_in[slot] & bank_bit(view))
			continue;
		row = row_new(collector);
		if (!row)
			return -ENOMEM;
		collector->row_of[slot] = (uint32_t)collector->n_rows;
		result = collect_row(collector->session, view, slot, row, &collector->torn);
		if (result < 0)
			return result;
	}
	return 0;
}

/* Mean time of a page fault, for threads too short-lived to have a timed one. */
static uint64_t fault_mean(struct collector *collector, uint64_t entry_ns)
{
	uint64_t ns = 0, timed = 0;

	for (size_t i = 0; i < collector->n_rows; i++) {
		ns += collector->rows[i].ledger.ns[LEDGER_FAULT];
		timed += collector->rows[i].ledger.timed_faults;
	}
	if (timed)
		collector->fault_ns = ns / timed + entry_ns;
	return collector->fault_ns;
}

/* The wait channel of the longest sleep outside of system calls. */
static void kernel_function_find(struct thread_row *row)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < row->n_descriptors; i++) {
		const struct descriptor_row *sleep = &row->descriptors[i];

		if (sleep->awaited != KD_AWAITED_KERNEL || sleep->waits.max <= longest)
			continue;
		longest = sleep->waits.max;
		memcpy(row->kernel_function, sleep->wchan, sizeof(sleep->wchan));
	}
}

/* Completes the rows with their map entries, and deletes these. */
static int rows_complete(struct collector *collector, const struct session_view *view)
{
	struct entry_cost cost = *session_entry(collector->session);
	int result = session_hashes(collector->session, view, collector->rows, collector->row_of,
				    collector->callers);

	cost.fault_mean_ns = fault_mean(collector, cost.fault_ns);
	/* All calls and lists are complete now. */
	for (size_t i = 0; i < collector->n_rows && !result; i++) {
		thread_move_entries(&collector->rows[i], &cost);
		if (collector->rows[i].unseen)
			result = thread_add_unlisted(&collector->rows[i]);
		else if (session_has_lost(collector->session, KD_LOSS_LOCKS))
			result = thread_add_unlisted_locks(&collector->rows[i]);
		kernel_function_find(&collector->rows[i]);
		thread_moments_add(&collector->rows[i], view->epoch);
	}
	return result;
}

/* Takes map entries of ended threads, which walks the maps completely. Without such a thread, does
 * so once in a window, for leftovers of earlier ones. */
static int rows_complete_ended(struct collector *collector, const struct session_view *view)
{
	if (!collector->n_rows && collector->walked == view->gen)
		return 0;
	collector->walked = view->gen;
	return rows_complete(collector, view);
}

#define APART_MOST 64

/* The main thread of a command is what its report is about, and others may be what that waited for:
 * they are folded when all is known, see command.h. */
static bool is_apart(const struct collector *collector, const struct ended *ended,
		     const struct thread_row *row)
{
	return collector->capture->command && (ended->n < APART_MOST || row->tid == collector->pid);
}

/* Moves rows of ended threads to the rows of their names. Other rows stay. */
static int rows_settle(struct collector *collector, const struct session_view *view)
{
	struct ended *ended = ended_of(collector, view);
	int result = 0;

	ended->torn += collector->torn;
	for (uint32_t slot = 1; slot < view->slots && !result; slot++) {
		struct thread_row *row;

		if (!collector->row_of[slot])
			continue;
		row = &collector->rows[collector->row_of[slot] - 1];
		if (is_dead(view, slot) && view->threads[slot].died <= view->end)
			collector->ended_in[slot] |= bank_bit(view);
		if (!row->members || !row->ended)
			continue;
		row->apart = is_apart(collector, ended, row);
		result = ended_add(ended, row);
	}
	return result;
}

/* True if a window that may have begun in the life of the slot's ended thread has yet to take the
 * thread over. An opening window has no start time yet. No window takes over a thread that left:
 * its map entries must not go to the slot's next thread. */
static bool is_needed(const struct collector *collector, const struct session_view *slots,
		      uint32_t slot)
{
	struct session_view view;

	for (uint32_t bank = 0; bank < KD_MAX_BANKS; bank++)
		if (session_window_at(collector->session, bank, &view) &&
		    !(collector->ended_in[slot] & bank_bit(&view)) &&
		    (!view.gen || view.start < slots->threads[slot].died))
			return true;
	return false;
}

/* Frees slots of ended threads that no window needs any more. */
static void slots_free(struct collector *collector)
{
	struct session_view view = session_window_now(collector->session);

	for (uint32_t slot = 1; slot < view.slots; slot++) {
		if (!is_dead(&view, slot) || is_needed(collector, &view, slot))
			continue;
		collector->ended_in[slot] = 0;
		session_slot_free(collector->session, slot);
	}
}

/* If the window is still open, threads read as ended have ended inside it, so their map entries
 * may be taken. */
static bool window_is_open(const struct collector *collector, const struct session_view *view)
{
	struct session_view now;

	return session_window_at(collector->session, view->bank, &now) && now.gen == view->gen &&
	       now.end == KD_NEVER;
}

/* Moves all rows to an array with space for them. */
static void ended_move(struct ended *ended, struct thread_row *rows)
{
	while (ended->by_name) {
		struct thread_row *row = *(struct thread_row **)ended->by_name;

		tdelete(row, &ended->by_name, row_compare);
		*rows++ = *row;
		free(row);
	}
	ended->n = 0;
}

static void ended_use(const void *node, VISIT visit, void *process_set)
{
	if (visit == postorder || visit == leaf)
		process_set_use(process_set, *(struct thread_row *const *)node);
}

/* Folds ended processes, together with the window's ended rows. */
static int ended_fold(struct collector *collector, const struct session_view *view)
{
	struct process_set *process_set = session_process_set(collector->session);
	struct ended *ended = view->gen ? ended_of(collector, view) : NULL;
	struct sample part = { 0 };
	int result;

	if (ended)
		twalk_r(ended->by_name, ended_use, process_set);
	result = process_set_fold_begin(process_set, view, &part);
	if (!result && ended && ended->n) {
		part.threads = calloc(ended->n, sizeof(*part.threads));
		result = part.threads ? 0 : -ENOMEM;
	}
	if (!result && part.threads) {
		part.n_threads = ended->n;
		ended_move(ended, part.threads);
	}
	if (!result)
		result = processes_fold_open(&part);
	for (size_t i = 0; i < part.n_threads && !result; i++)
		result = ended_add(ended, &part.threads[i]);
	if (!result && ended)
		process_set_fold_end(process_set, &part);
	sample_clear(&part);
	return result;
}

/* In a window of hours, more processes may end than memory can hold, so they are folded while it
 * is open. */
static int processes_settle(struct collector *collector)
{
	struct process_set *process_set = session_process_set(collector->session);
	struct session_view view = { .gen = 0 }, found,
			    slots = session_window_now(collector->session);
	uint8_t is_read = 0;

	if (!process_set_fold_due(process_set))
		return 0;
	for (uint32_t bank = 0; bank < KD_MAX_BANKS; bank++) {
		if (!session_window_at(collector->session, bank, &found))
			continue;
		/* With pairs, a process may belong to any open window. */
		if (!found.gen || found.end != KD_NEVER ||
		    session_windows(collector->session)->pairs)
			return 0; /* tries again in the next window */
		view = found;
		is_read = bank_bit(&view);
	}
	for (uint32_t slot = 1; slot < slots.slots; slot++)
		if (slots.threads[slot].task && !(collector->ended_in[slot] & is_read))
			process_set_keep(process_set, &slots.threads[slot]);
	return ended_fold(collector, &view);
}

int collector_drain(struct collector *collector)
{
	struct session_view view = session_window_now(collector->session);
	const bool open = view.gen && view.end == KD_NEVER;
	int result = 0;

	frozen_look(&collector->frozen_watch, collector->session, collector->pid);
	if (collector->user_waits)
		user_waits_look(collector->user_waits);
	disk_limits_look(&collector->disk_limits, &view);
	disk_watch_look(&collector->disk_watch, &view);
	journal_watch_look(&collector->journal_watch, &view);
	quota_watch_look(&collector->quota_watch, collector->pid, open);
	memory_watch_look(&collector->memory_watch, collector->pid, open);
	for (uint32_t bank = 0; bank < KD_MAX_BANKS && !result; bank++) {
		if (!session_window_at(collector->session, bank, &view) || !view.gen ||
		    view.end != KD_NEVER)
			continue;
		awaited_look(&collector->awaited, &view);
		result = slots_read(collector, &view, false);
		if (!result && window_is_open(collector, &view))
			result = rows_complete_ended(collector, &view)
					 ?: rows_settle(collector, &view);
		rows_clear(collector);
	}
	if (!result)
		slots_free(collector);
	return result ?: processes_settle(collector);
}

static unsigned int slots_used(const struct collector *collector)
{
	struct session_view view = session_window_now(collector->session);
	unsigned int used = 0;

	for (uint32_t slot = 1; slot < view.slots; slot++)
		used += view.threads[slot].task != 0;
	return used;
}

bool collector_is_empty(const struct collector *collector)
{
	struct session_view view = session_window_now(collector->session);

	for (uint32_t slot = 1; slot < view.slots; slot++)
		if (view.threads[slot].task && !view.threads[slot].left)
			return false;
	return true;
}

struct lock_callers *collector_lock_callers(struct collector *collector)
{
	return collector->callers;
}

unsigned int collector_hidden(const struct collector *collector, unsigned int threads)
{
	struct session_view view = session_window_now(collector->session);
	unsigned int used = slots_used(collector);

	/* With all slots taken, other threads were refused one, and counted. */
	return threads > used && used < view.slots - 1 ? threads - used : 0;
}

/* Moves all rows, of live threads and of ended names, into the sample. The array moves too: with
 * thousands of threads a copy would take megabytes. */
static int rows_move(struct collector *collector, struct ended *ended, struct sample *sample)
{
	size_t n = 0, capacity = collector->n_rows + ended->n + 1;
	struct thread_row *rows = reallocarray(collector->rows, capacity, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < collector->n_rows; i++) {
		if (rows[i].members)
			rows[n++] = rows[i];
		else
			thread_clear(&rows[i]);
	}
	collector->rows = NULL;
	collector->n_rows = collector->capacity = 0;
	sample->threads = rows;
	sample->n_threads = n + ended->n;
	ended_move(ended, rows + n);
	return 0;
}

int collector_finish(struct collector *collector, const struct session_view *view,
		     struct sample *sample)
{
	struct ended *ended = ended_of(collector, view);
	int result;

	memset(sample, 0, sizeof(*sample));
	sample->capture = collector->capture;
	frozen_look(&collector->frozen_watch, collector->session, collector->pid);
	frozen_take(&collector->frozen_watch, view, sample);
	disk_limits_take(&collector->disk_limits, view, sample);
	session_look(collector->session);
	awaited_look(&collector->awaited, view);
	if (session_files_pending(collector->session, view) ||
	    culprits_pending(session_culprits(collector->session), view))
		session_visit(collector->session, KD_VISIT_WAITING);
	result = slots_read(collector, view, true)
			 ?: rows_complete(collector, view)
			 ?: rows_settle(collector, view);
	if (!result)
		result = rows_move(collector, ended, sample);
	rows_clear(collector);
	sample->pid = collector->pid;
	sample->start = view->start + view->epoch;
	sample->end = view->end + view->epoch;
	sample->start_triggered = view->opened_by >= 0;
	sample->stop_triggered = view->closed_by >= 0;
	sample->started_on = sample->start_triggered ? view->opened_by : 0;
	sample->stopped_on = sample->stop_triggered ? view->closed_by : 0;
	sample->torn = ended->torn;
	sample->skipped_runs = session_losses(collector->session, sample->losses);
	sample->entry = *session_entry(collector->session);
	sample->resynced = session_resynced(collector->session);
	sample->page_faults_untimed = session_faults_untimed(collector->session, sample->start,
							     sample->end);
	sample->absent = session_absences(collector->session, &sample->n_absent);
	if (!result)
		result = session_upcalls(collector->session, view, sample)
				 ?: session_softirq_delays(collector->session, view, sample);
	if (!result)
		result = process_set_collect(
			session_process_set(collector->session), view,
			session_windows_since(collector->session, sample->start) - view->epoch,
			sample);
	if (!result)
		cpu_rules_take(&collector->quota_watch, sample);
	if (!result && collector->user_waits)
		result = user_waits_take(collector->user_waits, view, sample);
	if (!result)
		result = workers_take(sample);
	if (!result) {
		disk_use_take(&collector->disk_watch, sample);
		journal_use_take(&collector->journal_watch, sample);
	}
	if (!result)
		memory_limit_take(&collector->memory_watch, sample);
	if (!result)
		faulted_take(sample);
	if (!result)
		awaited_take(&collector->awaited, view, sample);
	if (!result)
		result = sample_finish(sample);
	ended_clear(ended);
	windows_release(session_windows(collector->session), view->bank);
	slots_free(collector);
	return result;
}
