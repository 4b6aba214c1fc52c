/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of rows, such as the stops of a thread by other threads. A struct row_list and its
 * fields describe a list once. They drive lookup, merging, sorting and freeing, and also JSON,
 * text sections, metrics and conditions. See thread_row.h. */
#ifndef ROWS_H
#define ROWS_H

#include "field.h"

struct columns;

/* A column of a section. A left-aligned column includes the separator to the next one in its
 * width. Right-aligned columns are preceded by two spaces, except after a left-aligned one. */
struct column {
	const char *title;
	int width; /* negative: left-aligned; 0: the last one, unpadded */
	enum column_kind {
		COLUMN_CELL,  /* written by the function */
		COLUMN_COUNT, /* uint64_t, no separators; summed in the line of the others */
		COLUMN_SUM,   /* like COLUMN_COUNT, with separators */
		COLUMN_MAX,   /* with separators, not summed */
		COLUMN_BEGAN, /* when the longest did, in full blocks */
	} kind;
	size_t at;                                              /* offset in the row */
	void (*cell)(struct columns *columns, const void *row); /* right-aligned: fills it */
};
#define COLUMN_OF_COUNT(type, member)                                                              \
	{                                                                                          \
		.title = "COUNT", .width = 10, .kind = COLUMN_COUNT, .at = offsetof(type, member)  \
	}
#define COLUMN_OF(text, of, type, member)                                                          \
	{                                                                                          \
		.title = (text), .width = 16, .kind = (of), .at = offsetof(type, member)           \
	}
#define COLUMN_OF_BEGAN(type, member)                                                              \
	{                                                                                          \
		.title = "MAX AT", .width = 15, .kind = COLUMN_BEGAN, .at = offsetof(type, member) \
	}
#define COLUMNS_COUNTED(type, prefix)                                                              \
	COLUMN_OF_COUNT(type, prefix count),                                                       \
		COLUMN_OF("TOTAL ns", COLUMN_SUM, type, prefix total),                             \
		COLUMN_OF("MAX ns", COLUMN_MAX, type, prefix max),                                 \
		COLUMN_OF_BEGAN(type, prefix began)

/* Figures of rows, of which metrics have families. */
enum list_figure { ROW_COUNT, ROW_TOTAL, ROW_MAX, ROW_BYTES, ROW_TIMES, LIST_FIGURES };

struct row_list {
	unsigned int id;            /* enum list_id */
	size_t size;                /* of a row */
	const struct field *fields; /* keys, and how to merge figures */
	/* Offsets of uint64_t figures in the row; 0: none. Rows are sorted by total, or else by
	 * count, largest first. */
	size_t count, total, max, bytes;

	unsigned int needs; /* enum scan; 0: rows of all runs */

	size_t most;        /* further rows are merged into the others; 0: no limit */
	const void *others; /* keys of the row of others; its other members are empty */
	/* Called before the fields of from are merged into into, for members that depend on each
	 * other. May be NULL. */
	void (*meet)(void *into, const void *from);

	const char *title; /* of the section, in brackets */
	const struct column *columns;
	bool sums;          /* adds a line with the sums, except in a brief block */
	size_t brief;       /* rows in a brief block; 0: the usual number */
	bool of_life;       /* which leaves out rows below 1 % of the thread's life */
	unsigned int state; /* enum ledger_state of all of them, which it needs 1 % of; 0: none */

	const char *condition; /* of --fail-if; NULL: none, or see LEDGER_WORDS */

	/* Metrics: families of figures; their labels are those of fields. NULL: none. */
	struct list_metric {
		const char *name, *help;
	} metrics[LIST_FIGURES];
	/* Names are thread names, which come and go. Only the first few of each thread
	 * become labels. */
	bool names_threads;
	/* Label of a row without a name: the uint32_t at this offset, or else this word. NULL:
	 * the label of the others. */
	size_t number;
	const char *unnamed;
	const char *(*mark)(const void *row); /* suffix of a name; NULL: none */
};
#define LIST_COUNTED(type, prefix)                                                                 \
	.count = offsetof(type, prefix count), .total = offsetof(type, prefix total),              \
	.max = offsetof(type, prefix max)

/* Reads one figure of a row, or all that its list has; missing ones are 0. */
uint64_t row_figure(const void *row, size_t at);
struct row_figures {
	uint64_t count, total, max, bytes;
};
struct row_figures row_figures(const struct row_list *list, const void *row);

/* Merges a row into the one with the same keys, or appends it; at the limit, merges it into the
 * others. rows: address of the pointer to the rows. The caller keeps the distributions and texts
 * of row. Returns 0 or -ENOMEM. */
int row_list_add(const struct row_list *list, void *rows, size_t *n, const void *row);

/* Frees the rows. */
void row_list_free(const struct row_list *list, void *rows, size_t n);

void row_list_sort(const struct row_list *list, void *rows, size_t n);

/* Rows and count in a FIELD_ROWS member; NULL: none. */
char *row_list_of(const struct field *field, const void *structure, size_t *n);

/* Merges, sorts, frees the rows of all lists of a structure. */
int row_lists_merge(const struct field *fields, void *into, const void *from);
void row_lists_sort(const struct field *fields, void *structure);
void row_lists_free(const struct field *fields, void *structure);

#endif
