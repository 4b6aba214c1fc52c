/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/names.h"
#include "cli/base/parse.h"
#include "cli/model/verdict.h"
#include "cli/model/words.h"
#include "text_parts.h"

/* --- Order --- */

bool text_wants_thread(const struct report_options *options, const struct thread_row *thread)
{
	char name[KD_COMM_LEN + 1];

	snprintf(name, sizeof(name), "%.*s", KD_COMM_LEN, thread->name);
	return !options->threads || names_match(options->threads, name);
}

static uint64_t sum_of(const struct thread_row *row, size_t from, size_t to)
{
	uint64_t sum = 0;

	for (size_t i = from; i <= to; i++)
		sum = u64_add(sum, row->ledger.ns[i]);
	return sum;
}

static uint64_t sort_key(const struct verdict_thread *thread, enum report_sort sort)
{
	switch (sort) {
	case SORT_KEPT:
		return thread->kept;
	case SORT_LONGEST:
		return thread->longest;
	case SORT_RUNNING:
		return ledger_running(&thread->row->ledger);
	case SORT_READY:
		return sum_of(thread->row, LEDGER_READY_WOKEN, LEDGER_READY_PREEMPTED);
	case SORT_BLOCKED:
		return sum_of(thread->row, LEDGER_BLOCKED, LEDGER_BLOCKED_UNINT);
	default:
		return 0;
	}
}

struct order {
	const struct sample *sample;
	enum report_sort sort;
};

static int threads_compare(const void *a, const void *b, void *context)
{
	const struct verdict_thread *x = *(const struct verdict_thread *const *)a;
	const struct verdict_thread *y = *(const struct verdict_thread *const *)b;
	const struct order *order = context;
	int by = text_is_trigger(order->sample, y->row) - text_is_trigger(order->sample, x->row);
	uint64_t key_x = sort_key(x, order->sort), key_y = sort_key(y, order->sort);

	if (!by)
		by = (key_x < key_y) - (key_x > key_y);
	if (!by && order->sort == SORT_TID)
		by = (x->row->tid > y->row->tid) - (x->row->tid < y->row->tid);
	return by ? by : (x->row > y->row) - (x->row < y->row); /* by name, then TID */
}

const struct verdict_thread **text_threads_order(const struct sample *sample,
						 const struct report_options *options, size_t *n)
{
	const struct verdict *verdict = sample->verdict;
	struct order order = { sample, options->sort };
	const struct verdict_thread **threads = calloc(verdict->n_threads ?: 1, sizeof(*threads));

	*n = 0;
	for (size_t i = 0; threads && i < verdict->n_threads; i++)
		if (text_wants_thread(options, verdict->threads[i].row))
			threads[(*n)++] = &verdict->threads[i];
	if (threads)
		qsort_r(threads, *n, sizeof(*threads), threads_compare, &order);
	return threads;
}

/* --- Lines of other threads --- */

void text_thread_states(struct columns *columns, const struct ledger *ledger)
{
	char share[NUMBER_LEN];
	bool written[LEDGER_STATES] = { false };
	uint64_t rest = ledger_sum(ledger);
	size_t left = 0;

	for (size_t state = 0; state < LEDGER_STATES; state++)
		left += ledger->ns[state] > 0;
	for (unsigned int i = 0; left && (i < 3 || left == 1); i++) {
		size_t most = LEDGER_STATES;

		for (size_t state = 0; state < LEDGER_STATES; state++)
			if (ledger->ns[state] && !written[state] &&
			    (most == LEDGER_STATES || ledger->ns[state] > ledger->ns[most]))
				most = state;
		written[most] = true;
		rest = u64_sub(rest, ledger->ns[most]);
		left--;
		number_share(share, ledger->ns[most], ledger->life);
		columns_add(columns, i ? ", " : "");
		columns_add(columns, ledger_words[most].title);
		columns_add(columns, " ");
		columns_add(columns, share);
	}
	number_share(share, rest, ledger->life);
	if (left)
		columns_print(columns, ", %zu others %s", left, share);
}

static void thread_line(struct text *text, const struct verdict_thread *thread)
{
	struct columns *columns = &text->columns;
	char kept[NUMBER_LEN];

	text_thread_id(text, thread->row);
	columns_add(columns, " ");
	number_time(kept, thread->kept);
	columns_right(columns, kept, 9);
	columns_add(columns, "  ");
	text_thread_states(columns, &thread->row->ledger);
	columns_add(columns, thread->row->ended ? ", ended" : "");
	text_process_of(text, thread->row);
	columns_add(columns, "\n");
}

/* --- Report --- */

void text_threads_header(struct columns *columns)
{
	columns_add(columns, "TID        THREAD           <RESOURCE SPECIFIC>\n"
			     "---------- ---------------- --------------------------------------"
			     "--------------------------------------\n");
}

/* Limit on lines that people still read. Unless more threads than usual were asked for, sections
 * stop at the limit, except those of the first few threads. */
#define LINES_MOST 400
#define LINES_BESIDE 40 /* screen, headers, footer */
#define TOP_USUAL 10
#define TOP_LEAST 3

/* Lines of a thread's sections, including the empty one after them. */
static size_t lines_of(const struct text *text, const struct thread_row *thread)
{
	struct text *trial = malloc(sizeof(*trial));
	char *written = NULL;
	size_t length = 0, lines = 1;
	FILE *out = open_memstream(&written, &length);

	if (out && trial) {
		*trial = (struct text){ .sample = text->sample, .brief = text->brief };
		columns_begin(&trial->columns, out);
		text_thread(trial, thread);
		columns_end(&trial->columns);
	}
	if (out)
		fclose(out);
	for (size_t i = 0; i < length; i++)
		lines += written[i] == '\n';
	free(written);
	free(trial);
	return lines;
}

/* How many of the first top threads have space for their sections. */
static size_t top_of(const struct text *text, const struct verdict_thread *const *threads, size_t n,
		     size_t top)
{
	size_t used = LINES_BESIDE + n;

	if (top > TOP_USUAL)
		return top;
	for (size_t i = 0; i < n && i < top; i++) {
		used += lines_of(text, threads[i]->row);
		if (used > LINES_MOST && i >= TOP_LEAST)
			return i;
	}
	return top;
}

static void threads_write(struct text *text, const struct verdict_thread *const *threads, size_t n,
			  size_t top)
{
	struct columns *columns = &text->columns;
	bool multiple = text_is_multiprocess(text->sample);

	columns_add(columns, "\n");
	if (top)
		text_threads_header(columns);
	for (size_t i = 0; i < n && i < top; i++) {
		columns_add(columns, i ? "\n" : "");
		if (multiple && (!i || process_compare(threads[i]->row, threads[i - 1]->row)))
			text_process_heading(text, threads[i]->row);
		text_thread(text, threads[i]->row);
	}
	if (n <= top)
		return;
	columns_add(columns, top ? "\n" : "");
	text_bold(text, top ? "OTHER      THREAD                KEPT  STATES"
			    : "TID        THREAD                KEPT  STATES");
	columns_add(columns, "\n");
	for (size_t i = top; i < n; i++)
		thread_line(text, threads[i]);
}

int text_short(struct text *text, const struct report_options *options)
{
	const struct verdict_thread **threads;
	size_t n;
	int error;

	threads = text_threads_order(text->sample, options, &n);
	if (!threads)
		return -ENOMEM;
	error = text_screen(text, threads, n) ?: text_path(text);
	if (!error && options->extent == REPORT_SHORT)
		error = text_processes(text, options->top);
	if (!error && options->extent == REPORT_SHORT)
		threads_write(text, threads, n, top_of(text, threads, n, options->top));
	free(threads);
	return error;
}
