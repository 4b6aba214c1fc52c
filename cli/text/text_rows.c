// SPDX-License-Identifier: Apache-2.0
/* Sections of a thread, and their rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/parse.h"
#include "cli/model/rows.h"
#include "text_parts.h"

void text_section(struct text *text, const char *title, const char *header)
{
	struct columns *columns = &text->columns;

	if (text->brief) {
		columns_right(columns, title, sizeof(TEXT_INDENT) - 2);
		columns_add(columns, " ");
	} else {
		columns_add(columns, "\n" TEXT_INDENT);
		columns_add(columns, title);
		columns_add(columns, "\n" TEXT_INDENT);
	}
	columns_add(columns, header);
	columns_add(columns, "\n");
}

static struct kd_count counts_of(const struct text_list *list, size_t row)
{
	struct kd_count counts;

	memcpy(&counts, (const char *)list->rows + row * list->size + list->counts, sizeof(counts));
	return counts;
}

struct text_cut text_cut(const struct text *text, const struct text_list *list, size_t most)
{
	struct text_cut cut = { .shown = list->n };

	if (!text->brief)
		return cut;
	cut.shown = u64_min(list->n, most);
	while (cut.shown && u64_times(counts_of(list, cut.shown - 1).total, 100) < list->life)
		cut.shown--;
	/* A line for one other row is no shorter than the row itself. */
	if (list->n - cut.shown == 1 && cut.shown)
		cut.shown++;
	cut.others = list->n - cut.shown;
	for (size_t i = cut.shown; i < list->n; i++) {
		cut.count = u64_add(cut.count, counts_of(list, i).count);
		cut.total = u64_add(cut.total, counts_of(list, i).total);
	}
	return cut;
}

bool text_has_lines(const struct text_cut *cut, const struct text_list *list)
{
	return cut->shown || (cut->others && u64_times(cut->total, 100) >= list->life);
}

void text_others_label(struct columns *columns, size_t others, size_t width)
{
	char label[16 + NUMBER_LEN];

	snprintf(label, sizeof(label), "and %s others", GROUPED(others));
	columns_add(columns, TEXT_INDENT);
	columns_left(columns, label, width);
}

void text_others(struct text *text, const struct text_cut *cut, size_t width)
{
	struct columns *columns = &text->columns;

	if (!cut->others)
		return;
	text_others_label(columns, cut->others, width);
	columns_gap_count(columns, cut->count, 10);
	columns_gap_ns(columns, cut->total, 16);
	columns_add(columns, "\n");
}

static bool is_at_left(const struct column *column)
{
	return column->width <= 0;
}

/* Adds the two spaces before a column. */
static void column_begin(struct columns *columns, const struct column *all,
			 const struct column *column)
{
	if (column > all && !is_at_left(column - 1))
		columns_add(columns, "  ");
}

static void rows_header(char *header, size_t size, const struct column *all)
{
	size_t used = 0;

	*header = '\0';
	for (const struct column *column = all; column->title && used < size; column++)
		used += (size_t)snprintf(header + used, size - used, "%s%*s",
					 column > all && !is_at_left(column - 1) ? "  " : "",
					 column->width, column->title);
}

static void row_cell(struct columns *columns, const struct column *column, const void *row)
{
	size_t used;

	switch (column->kind) {
	case COLUMN_CELL:
		used = column->cell(columns, row);
		if (is_at_left(column))
			columns_pad(columns, used, (size_t)-column->width);
		break;
	case COLUMN_COUNT:
		columns_count(columns, row_figure(row, column->at), (size_t)column->width);
		break;
	case COLUMN_SUM:
	case COLUMN_MAX:
		columns_ns(columns, row_figure(row, column->at), (size_t)column->width);
		break;
	}
}

/* Sums up rows in one line, after a label. */
static void rows_sum(struct text *text, const struct row_list *list, const char *rows, size_t n,
		     const char *label)
{
	struct columns *columns = &text->columns;
	const struct column *column = list->columns;
	size_t width = 0;

	for (; column->kind == COLUMN_CELL; column++)
		width += (column > list->columns && !is_at_left(column - 1) ? 2U : 0) +
			 (size_t)abs(column->width);
	columns_add(columns, TEXT_INDENT);
	columns_left(columns, label, width);
	for (; column->kind == COLUMN_COUNT || column->kind == COLUMN_SUM; column++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < n; i++)
			sum = u64_add(sum, row_figure(rows + i * list->size, column->at));
		column_begin(columns, list->columns, column);
		(column->kind == COLUMN_COUNT ? columns_count : columns_ns)(columns, sum,
									    (size_t)column->width);
	}
	columns_add(columns, "\n");
}

static bool is_counted(const struct row_list *list, const char *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (row_figure(rows + i * list->size, list->count))
			return true;
	return false;
}

void text_rows_below(struct text *text, const struct row_list *list, const void *rows, size_t n,
		     uint64_t life, void (*below)(struct text *text, const void *row))
{
	const struct text_list counts = {
		.rows = rows, .n = n, .size = list->size, .counts = list->count, .life = life
	};
	const struct text_cut cut =
		list->total ? text_cut(text, &counts, list->brief ?: TEXT_BRIEF_ROWS)
			    : (struct text_cut){ .shown = n }; /* without figures, no row is
								* small */
	struct columns *columns = &text->columns;
	char header[256], label[16 + NUMBER_LEN];

	if (!text_has_lines(&cut, &counts))
		return;
	rows_header(header, sizeof(header), list->columns);
	text_section(text, list->title, header);
	for (size_t i = 0; i < cut.shown; i++) {
		const char *row = (const char *)rows + i * list->size;

		columns_add(columns, TEXT_INDENT);
		for (const struct column *column = list->columns; column->title; column++) {
			column_begin(columns, list->columns, column);
			row_cell(columns, column, row);
		}
		columns_add(columns, "\n");
		if (below)
			below(text, row);
	}
	snprintf(label, sizeof(label), "and %s others", GROUPED(cut.others));
	if (cut.others)
		rows_sum(text, list, (const char *)rows + cut.shown * list->size, cut.others,
			 label);
	if (list->sums && !text->brief && is_counted(list, rows, n))
		rows_sum(text, list, rows, n, "TOTAL:");
}

void text_rows(struct text *text, const struct row_list *list, const void *rows, size_t n,
	       uint64_t life)
{
	text_rows_below(text, list, rows, n, life, NULL);
}
