/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/escape.h"
#include "cli/base/parse.h"
#include "cli/model/critical_path.h"
#include "cli/model/words.h"
#include "text_parts.h"

#define LINES_MOST 12
#define ROWS_MOST (LINES_MOST - 3) /* without headers and the line of the others */
#define THREAD_WIDTH 24

/* --- Choice of lines --- */

/* Running or ready. */
static bool is_runnable(const struct path_row *row)
{
	switch (row->state) {
	case LEDGER_BLOCKED:
	case LEDGER_BLOCKED_UNINT:
	case LEDGER_STOPPED:
	case LEDGER_FROZEN:
	case PATH_UNKNOWN:
		return false;
	default:
		return true;
	}
}

/* Runnable rows of a thread share a line, whatever their details. */
static bool share_line(const struct path_row *a, const struct path_row *b)
{
	return is_runnable(a) && is_runnable(b) && a->thread.tid == b->thread.tid &&
	       !a->multiple_threads && !b->multiple_threads;
}

static uint64_t length(const struct path_row *row)
{
	return u64_sub(row->end, row->start);
}

/* Rows of the path after joining shared lines; NULL: no memory. */
static struct path_row *lines_of(const struct critical_path *path, size_t *n)
{
	struct path_row *lines = calloc(path->n_rows, sizeof(*lines));

	*n = 0;
	for (size_t i = 0; lines && i < path->n_rows; i++)
		if (*n && share_line(&lines[*n - 1], &path->rows[i]))
			path_row_join(&lines[*n - 1], &path->rows[i]);
		else
			lines[(*n)++] = path->rows[i];
	return lines;
}

/* Longer ones first; ties by start. */
static int by_length(const void *a, const void *b)
{
	const struct path_row *x = *(const struct path_row *const *)a;
	const struct path_row *y = *(const struct path_row *const *)b;

	return ORDER(length(y), length(x)) ?: ORDER(x, y);
}

static int by_time(const void *a, const void *b)
{
	const struct path_row *x = *(const struct path_row *const *)a;
	const struct path_row *y = *(const struct path_row *const *)b;

	return ORDER(x, y);
}

/* --- Lines --- */

static void name_escaped(char *text, size_t size, const struct recorded_thread *thread)
{
	char name[16];

	escape_text(name, sizeof(name), thread->name, KD_COMM_LEN);
	snprintf(text, size, "%s[%d]", *name ? name : "thread", (int)thread->tid);
}

static void columns_of_row(struct text *text, const struct path_row *row, uint64_t ns,
			   const char *at, const char *thread)
{
	const struct critical_path *path = &text->sample->path;
	char what[PATH_TEXT_LEN], escaped[ESCAPE_SIZE(PATH_TEXT_LEN)];
	struct columns *columns = &text->columns;

	columns_right(columns, at, 10);
	columns_right(columns, AS_TIME(ns), 10);
	columns_right(columns, AS_SHARE(ns, u64_sub(path->end, path->start)), 9);
	columns_add(columns, "  ");
	columns_add(columns, thread);
	columns_pad(columns, escape_width(thread), THREAD_WIDTH);
	columns_add(columns, " ");
	path_row_text(row, text->sample->foreign_calls, what);
	escape_text(escaped, sizeof(escaped), what, sizeof(what));
	columns_add(columns, escaped);
	columns_add(columns, "\n");
}

static void row_line(struct text *text, const struct path_row *row)
{
	char thread[48];

	name_escaped(thread, sizeof(thread), &row->thread);
	columns_of_row(text, row, length(row),
		       AS_TIME(u64_sub(row->start, text->sample->path.start)), thread);
}

static void others_line(struct text *text, const struct path_row *const *rows, size_t n)
{
	struct path_row all = *rows[0];
	uint64_t ns = length(rows[0]);
	char count[48];

	for (size_t i = 1; i < n; i++) {
		path_row_join(&all, rows[i]);
		ns = u64_add(ns, length(rows[i]));
	}
	all.multiple_threads = false;
	snprintf(count, sizeof(count), "%zu others", n);
	columns_of_row(text, &all, ns, "-", count);
}

static void header(struct text *text)
{
	const struct critical_path *path = &text->sample->path;
	char thread[48];

	name_escaped(thread, sizeof(thread), &path->thread);
	text_bold(text, "CRITICAL PATH");
	columns_print(&text->columns, " of %s: %s", thread,
		      path_choice_texts[path->chosen < PATH_CHOICES ? path->chosen : 0]);
	if (path->lost)
		columns_print(&text->columns, "; the recording lacks %s events",
			      GROUPED(path->lost));
	columns_add(&text->columns, "\n");
	text_bold(text, "        AT      TIME    SHARE  THREAD                   WHAT");
	columns_add(&text->columns, "\n");
}

/* Writes how far back the recording goes, which may be less than requested. */
static void recorded(struct text *text)
{
	const struct recording_facts *facts = &text->sample->recorded;

	if (!facts->memory)
		return;
	text_bold(text, "RECORDED");
	if (facts->cut)
		columns_print(&text->columns,
			      " only the end of the sample: %s events fill %llu KB\n",
			      GROUPED(facts->events), (unsigned long long)(facts->memory >> 10));
	else
		columns_print(&text->columns, " %s%s before it%s (%s events)\n",
			      facts->overwritten ? "only " : "", AS_TIME(facts->held),
			      facts->overwritten ? ": its memory was full" : ", too",
			      GROUPED(facts->events));
	if (facts->overwritten)
		columns_add(&text->columns,
			    "         give --record more memory (memory=SIZE), or less time\n");
}

int text_path(struct text *text)
{
	const struct critical_path *path = &text->sample->path;
	const struct path_row **order = calloc(path->n_rows ?: 1, sizeof(*order));
	struct path_row *lines = NULL;
	size_t n = 0, shown;

	recorded(text);
	if (path->n_rows)
		lines = lines_of(path, &n);
	if (!path->n_rows || !lines || !order) {
		free(lines);
		free(order);
		return path->n_rows ? -ENOMEM : 0;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = &lines[i];
	qsort(order, n, sizeof(*order), by_length);
	shown = n > ROWS_MOST + 1 ? ROWS_MOST : n;
	qsort(order, shown, sizeof(*order), by_time);
	header(text);
	for (size_t i = 0; i < shown; i++)
		row_line(text, order[i]);
	if (n > shown)
		others_line(text, order + shown, n - shown);
	free(lines);
	free(order);
	return 0;
}
