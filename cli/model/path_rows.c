// SPDX-License-Identifier: Apache-2.0
#include "path_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"

/* So many are collected before they are made fewer. */
#define ROWS_MOST (2 * PATH_ROWS)
#define LEAST_FIRST 1000 /* ns */
#define ACROSS 64 /* legs that are shorter by so much share rows with those of other threads */

static bool same_thread(const struct path_row *a, const struct path_row *b)
{
	return a->thread.tid == b->thread.tid && a->thread.pid == b->thread.pid;
}

/* What they are, or are mostly. */
static bool are_alike(const struct path_row *a, const struct path_row *b)
{
	return a->state == b->state && same_thread(a, b) && a->call == b->call &&
	       a->awaited == b->awaited && a->ended_by == b->ended_by && a->reason == b->reason &&
	       a->by.kind == b->by.kind && a->by.tid == b->by.tid && a->by.pid == b->by.pid &&
	       !strncmp(a->by.name, b->by.name, sizeof(a->by.name));
}

static void mostly_join(struct path_row *into, const struct path_row *row)
{
	if (are_alike(into, row)) {
		into->mostly = u64_add(into->mostly, row->mostly);
	} else if (row->mostly > into->mostly) {
		into->mostly = row->mostly;
		into->thread = row->thread;
		into->state = row->state;
		into->awaited = row->awaited;
		into->ended_by = row->ended_by;
		into->reason = row->reason;
		into->call = row->call;
		into->by = row->by;
	}
}

void path_row_join(struct path_row *into, const struct path_row *row)
{
	if (row->several_threads || !same_thread(into, row))
		into->several_threads = true;
	mostly_join(into, row);
	into->start = u64_min(into->start, row->start);
	into->end = u64_max(into->end, row->end);
	into->legs = u64_add(into->legs, row->legs);
	for (size_t i = 0; i < PATH_STATES; i++)
		into->parts[i] = u64_add(into->parts[i], row->parts[i]);
}

static bool is_short(const struct path_row *row, uint64_t least)
{
	return row->end - row->start < least;
}

/* Those of one thread do so long before those of several. */
static bool may_share(const struct path_rows *rows, const struct path_row *a,
		      const struct path_row *b)
{
	uint64_t least = rows->least / ACROSS;

	if (same_thread(a, b) && !a->several_threads && !b->several_threads)
		return (a->legs > 1 || is_short(a, rows->least)) &&
		       (b->legs > 1 || is_short(b, rows->least));
	return (a->several_threads || is_short(a, least)) &&
	       (b->several_threads || is_short(b, least));
}

/* Has neighbours that are short share rows. */
static void rows_share(struct path_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (n && may_share(rows, &rows->rows[n - 1], &rows->rows[i]))
			path_row_join(&rows->rows[n - 1], &rows->rows[i]);
		else
			rows->rows[n++] = rows->rows[i];
	rows->n = n;
}

static void rows_reduce(struct path_rows *rows)
{
	while (rows->n > PATH_ROWS) {
		rows->least = rows->least ? u64_times(rows->least, 2) : LEAST_FIRST;
		rows_share(rows);
	}
}

void path_rows_add(struct path_rows *rows, const struct path_row *leg)
{
	uint64_t ns = leg->end - leg->start;
	struct path_row *last = rows->n ? &rows->rows[rows->n - 1] : NULL, *row;

	if (!ns || rows->failed)
		return;
	if (last && last->legs == 1 && are_alike(last, leg)) {
		last->start = leg->start;
		last->parts[leg->state] += ns;
		last->mostly += ns;
		return;
	}
	if (rows->n == ROWS_MOST)
		rows_reduce(rows);
	if (ARRAY_GROW(rows->rows, rows->n, rows->room)) {
		rows->failed = true;
		return;
	}
	row = &rows->rows[rows->n++];
	*row = *leg;
	row->legs = 1;
	row->mostly = row->parts[leg->state] = ns;
	if (rows->n > 1 && may_share(rows, row, row - 1)) {
		path_row_join(row - 1, row);
		rows->n--;
	}
}

int path_rows_finish(struct path_rows *rows, struct critical_path *path)
{
	if (rows->failed) {
		free(rows->rows);
		return -ENOMEM;
	}
	rows_reduce(rows);
	for (size_t i = 0, j = rows->n; i + 1 < j; i++) {
		struct path_row row = rows->rows[i];

		rows->rows[i] = rows->rows[--j];
		rows->rows[j] = row;
	}
	path->rows = rows->rows;
	path->n_rows = rows->n;
	for (size_t i = 0; i < rows->n; i++)
		path->legs += rows->rows[i].legs;
	return 0;
}
