/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of rows, such as who stopped a thread. A struct row_list and the fields of its rows
 * describe a list once: from them its rows are found, added up, sorted and released; JSON, the
 * section of the text, metrics and conditions follow. lists.h has them. */
#ifndef ROWS_H
#define ROWS_H

#include "field.h"

struct columns;

/* A column of the section. One that is at the left has in its width what separates it from the
 * next; in front of others are two spaces, but behind such a one. */
struct column {
	const char *title;
	int width; /* negative: at the left; 0: the last one, which is as wide as it is */
	enum column_kind {
		COLUMN_CELL,  /* as the function writes it */
		COLUMN_COUNT, /* uint64_t, without separators; the line of others has the sum */
		COLUMN_SUM,   /* the same, with separators */
		COLUMN_MAX,   /* with separators, and no sum */
	} kind;
	size_t at; /* in the row */
	/* Returns how many columns it took; at the right it has filled its width. */
	size_t (*cell)(struct columns *columns, const void *row);
};
#define COLUMN_OF_COUNT(type, member)                                                              \
	{                                                                                          \
		.title = "COUNT", .width = 10, .kind = COLUMN_COUNT, .at = offsetof(type, member)  \
	}
#define COLUMN_OF(text, of, type, member)                                                          \
	{                                                                                          \
		.title = (text), .width = 16, .kind = (of), .at = offsetof(type, member)           \
	}
#define COLUMNS_COUNTED(type, prefix)                                                              \
	COLUMN_OF_COUNT(type, prefix count),                                                       \
		COLUMN_OF("TOTAL ns", COLUMN_SUM, type, prefix total),                             \
		COLUMN_OF("MAX ns", COLUMN_MAX, type, prefix max)

struct row_list {
	unsigned int id;            /* enum list_id */
	size_t size;                /* of a row */
	const struct field *fields; /* which of them are keys, and how figures are merged */
	/* Figures, uint64_t: where they are in the row. 0: it has none of the kind. Rows are sorted
	 * by total, else by count, the largest first. */
	size_t count, total, max, bytes;

	enum row_needs { ROWS_ALWAYS, ROWS_OF_RESOURCES, ROWS_OF_COUNTERS } needs; /* options */

	size_t most;        /* beyond so many, rows are added to that of others; 0: no limit */
	const void *others; /* a row with the keys of that one, and of nobody else's members */
	/* Runs before the members of from are merged into those of into, for what depends on
	 * several of them. NULL: nothing does. */
	void (*meet)(void *into, const void *from);

	const char *title; /* of the section, with brackets */
	const struct column *columns;
	bool sums;    /* a line with those of all rows below them, but in a brief block */
	size_t brief; /* of how many rows a brief block has a line; 0: the usual number */

	/* Metrics: names are of threads, as others come and go. Those of the first few of each
	 * thread are labels. */
	bool names_threads;
	/* The label of a row without a name: a number, uint32_t, which is there; else this word;
	 * NULL: that of the others. */
	size_t number;
	const char *unnamed;
	const char *(*mark)(const void *row); /* what is added to a name; NULL: nothing is */
};
#define LIST_COUNTED(type, prefix)                                                                 \
	.count = offsetof(type, prefix count), .total = offsetof(type, prefix total),              \
	.max = offsetof(type, prefix max)

/* Figures of a row: one, and those that its list knows, of which it does not have 0. */
uint64_t row_figure(const void *row, size_t at);
struct row_figures {
	uint64_t count, total, max, bytes;
};
struct row_figures row_figures(const struct row_list *list, const void *row);

/* Adds what a row has to the row with the same keys, which is made if there is none; at the limit,
 * to that of others. rows: the address of the pointer to the rows. Distributions and texts
 * of the row stay the caller's. Returns 0 or -ENOMEM. */
int row_list_add(const struct row_list *list, void *rows, size_t *n, const void *row);

/* Releases the rows. */
void row_list_free(const struct row_list *list, void *rows, size_t n);

void row_list_sort(const struct row_list *list, void *rows, size_t n);

/* The rows that a structure has in a member of FIELD_ROWS, and their number; NULL: none. */
char *row_list_of(const struct field *field, const void *structure, size_t *n);

/* Adds, sorts, releases the rows of all lists among the fields of a structure. */
int row_lists_merge(const struct field *fields, void *into, const void *from);
void row_lists_sort(const struct field *fields, void *structure);
void row_lists_free(const struct field *fields, void *structure);

#endif
