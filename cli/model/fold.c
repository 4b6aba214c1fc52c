// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "command.h"
#include "user_wait.h"

/* --- Processes --- */

/* Sorts ended processes first, by name; within a name, those begun in the window last. */
static int process_by_name(const void *a, const void *b)
{
	const struct process_row *x = *(const struct process_row *const *)a;
	const struct process_row *y = *(const struct process_row *const *)b;

	return (y->ended - x->ended)
		       ?: strncmp(x->name, y->name, sizeof(x->name))
		       ?: (x->began - y->began)
		       ?: process_row_compare(x, y);
}

/* Clears a text unless both are equal. */
static void text_merge(char *into, const char *from, size_t size)
{
	if (strncmp(into, from, size) != 0)
		memset(into, 0, size);
}

/* Merges a run into its first row. into[i]: index of the row that row i is merged into. */
static void processes_join(struct process_row *rows, struct process_row **run, size_t n,
			   size_t *into)
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

/* Length of a run of similar rows; *members: processes in them. */
static size_t processes_alike(struct process_row *const *run, size_t n, uint64_t *members)
{
	size_t length = 1;

	*members = run[0]->members;

	while (length < n && run[length]->ended && run[length]->began == run[0]->began &&
	       !strncmp(run[length]->name, run[0]->name, sizeof(run[0]->name)))
		*members += run[length++]->members;
	return length;
}

/* Moves threads to the merged rows of their processes. */
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

/* Sorts processes by PID and folds ended ones by name, if there are more than SAMPLE_FOLD. Those
 * that also began in the window get a row of their own. Threads move along. Returns 0 or
 * -ENOMEM. */
static int processes_fold(struct sample *sample)
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
		rows[i].members = rows[i].members ?: 1;
		order[i] = &rows[i];
		into[i] = i;
	}
	ARRAY_SORT(order, n, process_by_name);
	for (size_t i = 0; i < n && order[i]->ended; i += length) {
		length = processes_alike(&order[i], n - i, &members);
		if (members > SAMPLE_FOLD)
			processes_join(rows, &order[i], length, into);
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
static int process_by_members(const void *a, const void *b)
{
	const struct process_row *x = *(const struct process_row *const *)a;
	const struct process_row *y = *(const struct process_row *const *)b;

	return ORDER(y->members, x->members) ?: process_row_compare(x, y);
}

static bool is_other(const struct process_row *row)
{
	return row && !strncmp(row->name, PROCESS_OTHERS, sizeof(row->name));
}

/* Replaces names until few enough are left. */
static int names_limit(struct sample *sample)
{
	size_t n = sample->n_processes;
	struct process_row **order = calloc(n, sizeof(struct process_row *));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = &sample->processes[i];
	ARRAY_SORT(order, n, process_by_members);
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

/* --- Threads --- */

/* How a row is folded: not at all, with ended ones, or with silent ones of its state
 * (FOLD_SILENT + enum ledger_state). */
enum { FOLD_ALONE, FOLD_ENDED, FOLD_SILENT };

struct candidate {
	struct thread_row *row;
	unsigned int class;
	const void *wait; /* see loss_of() */
};

static int row_by_name(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;

	return process_compare(x, y)
		       ?: strncmp(x->name, y->name, sizeof(x->name))
		       ?: ORDER(x->tid, y->tid);
}

static int candidate_by_name(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return process_compare(x->row, y->row)
		       ?: strncmp(x->row->name, y->row->name, sizeof(x->row->name))
		       ?: ORDER(x->class, y->class)
		       ?: ORDER(x->wait, y->wait)
		       ?: row_by_name(x->row, y->row);
}

/* True if it is known whom it waits for. */
static bool awaits_someone(const struct thread_row *thread)
{
	for (size_t i = 0; i < thread->n_descriptors; i++)
		if (thread->descriptors[i].awaited_pid || thread->descriptors[i].unanswered)
			return true;
	return false;
}

static bool is_loss(enum wchan_cause cause)
{
	return cause != WCHAN_IDLE && cause != WCHAN_TIME && cause != WCHAN_POLL &&
	       cause != WCHAN_FUTEX && cause != WCHAN_THROUGH;
}

/* What a thread slept for, its row in a table, if the program calls it a loss, or the kernel does:
 * idle ones do not share a row with it. */
static const void *loss_of(const struct thread_row *thread)
{
	for (size_t i = 0; i < thread->n_descriptors; i++) {
		const struct descriptor_row *sleep = &thread->descriptors[i];
		const struct user_wait *user = user_wait_of_sleep(sleep);
		const struct wchan *wchan = wchan_of(sleep->wchan);

		if (user && is_loss(user->cause))
			return user;
		if (wchan && is_loss(wchan->cause))
			return wchan;
	}
	return NULL;
}

static unsigned int fold_class(const struct thread_row *thread)
{
	enum ledger_state state;

	if (thread->ended)
		return FOLD_ENDED;
	if (awaits_someone(thread))
		return FOLD_ALONE;
	return thread_is_silent(thread, &state) ? FOLD_SILENT + state : FOLD_ALONE;
}

/* Number of leading candidates that could share a row. */
static size_t run_length(const struct candidate *first, size_t n)
{
	size_t length = 1;

	while (length < n && first[length].class == first->class &&
	       first[length].wait == first->wait &&
	       !process_compare(first[length].row, first->row) &&
	       !strncmp(first[length].row->name, first->row->name, sizeof(first->row->name)))
		length++;
	return length;
}

/* Merges a run into its first row; the others lose their members. */
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
	const struct thread_row *main = command_main(sample);
	size_t left = 0, length;
	int err = 0;

	if (!candidates)
		return -ENOMEM;
	for (size_t i = 0; i < sample->n_threads; i++) {
		struct thread_row *row = &sample->threads[i];

		if (!row->members)
			row->members = 1;
		candidates[i] = (struct candidate){ .row = row,
						    .class = fold_class(row),
						    .wait = row->ended ? NULL : loss_of(row) };
		if (main && command_follows(main, row))
			candidates[i].class = FOLD_ALONE;
	}
	ARRAY_SORT(candidates, sample->n_threads, candidate_by_name);
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
	if (command_chains(sample) || threads_fold(sample))
		return -ENOMEM;

	for (size_t i = 0; i < sample->n_threads; i++) {
		thread_sort(&sample->threads[i]);
		thread_times_sum(&sample->threads[i]);
	}
	ARRAY_SORT(sample->threads, sample->n_threads, row_by_name);
	return 0;
}
