// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "sample.h"
#include "verdict.h"

static int by_identity(pid_t pid, uint64_t start, pid_t other, uint64_t other_start)
{
	int order = (pid > other) - (pid < other);

	return order ? order : (start > other_start) - (start < other_start);
}

static int row_by_pid(const void *a, const void *b)
{
	const struct process_row *x = a, *y = b;

	return by_identity(x->pid, x->start, y->pid, y->start);
}

int process_compare(const struct thread_row *a, const struct thread_row *b)
{
	return by_identity(a->pid, a->process_start, b->pid, b->process_start);
}

void processes_sort_rows(struct sample *sample)
{
	if (sample->n_processes)
		qsort(sample->processes, sample->n_processes, sizeof(*sample->processes),
		      row_by_pid);
}

const struct process_row *process_of(const struct sample *sample, const struct thread_row *thread)
{
	const struct process_row key = { .pid = thread->pid, .start = thread->process_start };

	if (!sample->n_processes)
		return NULL;
	return bsearch(&key, sample->processes, sample->n_processes, sizeof(key), row_by_pid);
}

const struct process_row *process_at(const struct sample *sample, pid_t pid, uint64_t at)
{
	const struct process_row *row;
	size_t low = 0, high = sample->n_processes; /* those before low began by then, */

	while (low < high) { /* and those from high on later */
		size_t middle = low + (high - low) / 2;

		row = &sample->processes[middle];
		if (by_identity(row->pid, row->start, pid, at) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	row = low ? &sample->processes[low - 1] : NULL;
	return row && row->pid == pid ? row : NULL;
}

static unsigned int members_of(const struct process_row *row)
{
	return row->members ? row->members : 1;
}

uint64_t processes_count(const struct sample *sample)
{
	uint64_t count = 0;

	for (size_t i = 0; i < sample->n_processes; i++)
		count += members_of(&sample->processes[i]);
	return count;
}

/* --- Folding --- */

/* Those that have ended first, by name, and those of a name that began in the window last. */
static int row_by_name(const void *a, const void *b)
{
	const struct process_row *x = *(const struct process_row *const *)a;
	const struct process_row *y = *(const struct process_row *const *)b;
	int order = y->ended - x->ended;

	if (!order)
		order = strncmp(x->name, y->name, sizeof(x->name));
	if (!order)
		order = x->began - y->began;
	return order ? order : row_by_pid(x, y);
}

/* What all of them have. */
static void text_merge(char *into, const char *from, size_t size)
{
	if (strncmp(into, from, size) != 0)
		memset(into, 0, size);
}

/* Makes one row of a run. into[i] is the index of the row which the one at an index goes into. */
static void run_fold(struct process_row *rows, struct process_row **run, size_t n, size_t *into)
{
	struct process_row *first = run[0];

	for (size_t i = 1; i < n; i++) {
		struct process_row *row = run[i];

		text_merge(first->title, row->title, sizeof(first->title));
		text_merge(first->container, row->container, sizeof(first->container));
		text_merge(first->image, row->image, sizeof(first->image));
		text_merge(first->pod, row->pod, sizeof(first->pod));
		if (__builtin_add_overflow(first->members, row->members, &first->members))
			first->members = UINT_MAX;
		into[row - rows] = (size_t)(first - rows);
	}
}

/* How many rows could be one; *members: how many processes that are. */
static size_t run_length(struct process_row *const *run, size_t n, uint64_t *members)
{
	size_t length = 1;

	*members = run[0]->members;

	while (length < n && run[length]->ended && run[length]->began == run[0]->began &&
	       !strncmp(run[length]->name, run[0]->name, sizeof(run[0]->name)))
		*members += run[length++]->members;
	return length;
}

/* Threads are of the row that their process has gone into. */
static void threads_move(struct sample *sample, const size_t *into)
{
	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct process_row *row = process_of(sample, &sample->threads[i]);

		if (!row)
			continue;
		row = &sample->processes[into[row - sample->processes]];
		sample->threads[i].pid = row->pid;
		sample->threads[i].process_start = row->start;
	}
}

int processes_fold(struct sample *sample)
{
	size_t n = sample->n_processes, left = 0, length;
	struct process_row *rows = sample->processes, **order;
	size_t *into;
	uint64_t members;

	if (!n)
		return 0;
	order = calloc(n, sizeof(struct process_row *));
	into = calloc(n, sizeof(*into));
	if (!order || !into) {
		free(order);
		free(into);
		return -ENOMEM;
	}
	processes_sort_rows(sample);
	for (size_t i = 0; i < n; i++) {
		rows[i].members = members_of(&rows[i]);
		order[i] = &rows[i];
		into[i] = i;
	}
	qsort(order, n, sizeof(*order), row_by_name);
	for (size_t i = 0; i < n && order[i]->ended; i += length) {
		length = run_length(&order[i], n - i, &members);
		if (members > SAMPLE_FOLD)
			run_fold(rows, &order[i], length, into);
	}
	threads_move(sample, into);
	for (size_t i = 0; i < n; i++)
		if (into[i] == i)
			rows[left++] = rows[i];
	sample->n_processes = left;
	free(order);
	free(into);
	return 0;
}

/* Most members first. */
static int row_by_members(const void *a, const void *b)
{
	const struct process_row *x = *(const struct process_row *const *)a;
	const struct process_row *y = *(const struct process_row *const *)b;

	return x->members == y->members ? row_by_pid(x, y)
					: (x->members < y->members) - (x->members > y->members);
}

static bool is_other(const struct process_row *row)
{
	return row && !strncmp(row->name, PROCESS_OTHERS, sizeof(row->name));
}

/* Takes names away until there are few enough. */
static int names_limit(struct sample *sample)
{
	size_t n = sample->n_processes;
	struct process_row **order = calloc(n, sizeof(struct process_row *));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = &sample->processes[i];
	qsort(order, n, sizeof(*order), row_by_members);
	for (size_t i = PROCESS_ROWS; i < n; i++)
		memcpy(order[i]->name, PROCESS_OTHERS, sizeof(PROCESS_OTHERS));
	free(order);
	for (size_t i = 0; i < sample->n_threads; i++) {
		struct thread_row *thread = &sample->threads[i];

		if (is_other(process_of(sample, thread)))
			memcpy(thread->name, PROCESS_OTHERS, sizeof(PROCESS_OTHERS));
	}
	return 0;
}

int processes_fold_open(struct sample *sample)
{
	int error = processes_fold(sample);

	if (!error && sample->n_processes > PROCESS_ROWS)
		error = names_limit(sample) ?: processes_fold(sample);
	return error;
}

/* --- Sums --- */

static void sum_add(struct process_sum *sum, const struct verdict_thread *thread)
{
	const struct thread_row *row = thread->row;
	const uint64_t *ns = row->ledger.ns;

	sum->threads = u64_add(sum->threads, row->members ? row->members : 1);
	sum->life = u64_add(sum->life, row->ledger.life);
	sum->running = u64_add(sum->running, ledger_running(&row->ledger));
	sum->stolen = u64_add(sum->stolen, ns[LEDGER_STOLEN]);
	sum->ready = u64_add(sum->ready,
			     u64_add(ns[LEDGER_READY_WOKEN], ns[LEDGER_READY_PREEMPTED]));
	sum->throttled = u64_add(sum->throttled, ns[LEDGER_THROTTLED]);
	sum->blocked = u64_add(sum->blocked, ledger_blocked(&row->ledger));
	sum->stopped = u64_add(sum->stopped, ns[LEDGER_STOPPED]);
	sum->frozen = u64_add(sum->frozen, ns[LEDGER_FROZEN]);
	sum->busy = u64_add(sum->busy, thread->busy);
	sum->kept = u64_add(sum->kept, thread->kept);
	if (!sum->worst || thread->kept > sum->worst_kept) {
		sum->worst = row;
		sum->worst_kept = thread->kept;
	}
}

void process_sum_add(struct process_sum *into, const struct process_sum *from)
{
	into->threads = u64_add(into->threads, from->threads);
	into->life = u64_add(into->life, from->life);
	into->running = u64_add(into->running, from->running);
	into->stolen = u64_add(into->stolen, from->stolen);
	into->ready = u64_add(into->ready, from->ready);
	into->throttled = u64_add(into->throttled, from->throttled);
	into->blocked = u64_add(into->blocked, from->blocked);
	into->stopped = u64_add(into->stopped, from->stopped);
	into->frozen = u64_add(into->frozen, from->frozen);
	into->busy = u64_add(into->busy, from->busy);
	into->kept = u64_add(into->kept, from->kept);
}

static int sum_by_kept(const void *a, const void *b)
{
	const struct process_sum *x = a, *y = b;
	int order = (x->kept < y->kept) - (x->kept > y->kept);

	if (!order)
		order = (x->running < y->running) - (x->running > y->running);
	return order ? order : row_by_pid(x->process, y->process);
}

int processes_sum(const struct sample *sample, const struct verdict *verdict,
		  struct process_sum **sums)
{
	*sums = calloc(sample->n_processes ?: 1, sizeof(**sums));
	if (!*sums)
		return -ENOMEM;
	for (size_t i = 0; i < sample->n_processes; i++)
		(*sums)[i].process = &sample->processes[i];
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct process_row *row = process_of(sample, verdict->threads[i].row);

		if (row)
			sum_add(&(*sums)[row - sample->processes], &verdict->threads[i]);
	}
	qsort(*sums, sample->n_processes, sizeof(**sums), sum_by_kept);
	return 0;
}
