// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "distribution.h"

uint64_t row_figure(const void *row, size_t at)
{
	uint64_t figure;

	memcpy(&figure, (const char *)row + at, sizeof(figure));
	return figure;
}

struct row_figures row_figures(const struct row_list *list, const void *row)
{
	return (struct row_figures){
		.count = row_figure(row, list->count),
		.total = list->total ? row_figure(row, list->total) : 0,
		.max = list->max ? row_figure(row, list->max) : 0,
		.bytes = list->bytes ? row_figure(row, list->bytes) : 0,
	};
}

/* --- What a row has of its own: texts and distributions --- */

static const char **own_of(const struct field *field, void *row)
{
	return field->kind == FIELD_OWN ? (const char **)((char *)row + field->at) : NULL;
}

/* Copies FIELD_OWN members and distributions that a copied row still shares with its original.
 * Returns 0, or -ENOMEM with some of them copied. */
static int fields_detach(const struct field *fields, void *row)
{
	int error = 0;

	for (const struct field *field = fields; field->key; field++) {
		struct distribution *times = field_times(field, row), from;
		const char **own = own_of(field, row), *text = own ? *own : NULL;

		if (own)
			*own = NULL;
		if (text && !error)
			error = field_own(own, text, strlen(text));
		if (!times)
			continue;
		from = *times;
		*times = (struct distribution){ NULL, 0 };
		if (!error)
			error = distribution_merge(times, &from);
	}
	return error;
}

/* Frees FIELD_OWN members and distributions. */
static void fields_free(const struct field *fields, void *row)
{
	for (const struct field *field = fields; field->key; field++) {
		const char **own = own_of(field, row);

		if (field_times(field, row))
			distribution_clear(field_times(field, row));
		if (own)
			free((char *)*own);
	}
}

/* --- Adding --- */

/* True if x has the keys of y, or of the row of others for y. */
static bool has_keys(const struct row_list *list, const char *x, const char *y, bool as_others)
{
	for (const struct field *field = list->fields; field->key && field->merge == MERGE_KEEP;
	     field++) {
		bool others = as_others && !(field->flags & FIELD_EACH);

		if (field->flags & FIELD_KEY && field_compare(field, x, others ? list->others : y))
			return false;
	}
	return true;
}

static char *row_find(const struct row_list *list, char *rows, size_t n, const void *row,
		      bool as_others)
{
	for (size_t i = 0; i < n; i++)
		if (has_keys(list, rows + i * list->size, row, as_others))
			return rows + i * list->size;
	return NULL;
}

/* Appends the row of others for this row. Returns NULL without memory. */
static void *row_append_others(const struct row_list *list, void *rows, size_t *n, const void *row)
{
	char *others = array_append(rows, n, list->others, list->size);

	for (const struct field *field = list->fields; field->key && others; field++)
		if (field->flags & FIELD_EACH)
			memcpy(others + field->at, (const char *)row + field->at, field->size);
	return others;
}

/* into: the row with the same keys; NULL: none. */
static int row_add_to(const struct row_list *list, void *rows, size_t *n, const void *row,
		      char *into)
{
	char *all;

	memcpy(&all, rows, sizeof(all));
	if (!into && list->most && *n >= list->most && !has_keys(list, row, row, true)) {
		into = row_find(list, all, *n, row, true) ?: row_append_others(list, rows, n, row);
		if (!into)
			return -ENOMEM;
	}
	if (!into) {
		into = array_append(rows, n, row, list->size);
		return into ? fields_detach(list->fields, into) : -ENOMEM;
	}
	if (list->meet)
		list->meet(into, row);
	return fields_merge(list->fields, into, row);
}

int row_list_add(const struct row_list *list, void *rows, size_t *n, const void *row)
{
	char *all;

	memcpy(&all, rows, sizeof(all));
	return row_add_to(list, rows, n, row, row_find(list, all, *n, row, false));
}

/* --- Adding many --- */

#define ROWS_MANY 256 /* fewer are found as fast one by one */

struct keyed {
	const struct row_list *list;
	const char *rows;
};

static int keys_compare(const struct row_list *list, const char *x, const char *y)
{
	int result = 0;

	for (const struct field *field = list->fields;
	     field->key && field->merge == MERGE_KEEP && !result; field++)
		if (field->flags & FIELD_KEY)
			result = field_compare(field, x, y);
	return result;
}

static int numbers_compare(const void *a, const void *b, void *context)
{
	const struct keyed *keyed = context;
	const size_t *x = a, *y = b, size = keyed->list->size;

	return keys_compare(keyed->list, keyed->rows + *x * size, keyed->rows + *y * size)
		       ?: (*x > *y) - (*x < *y);
}

/* Numbers of the rows in the order of their keys, and of arrival; NULL without memory. */
static size_t *rows_order(const struct row_list *list, const char *rows, size_t n)
{
	struct keyed keyed = { list, rows };
	size_t *order = calloc(n + 1, sizeof(*order));

	for (size_t i = 0; order && i < n; i++)
		order[i] = i;
	if (order)
		qsort_r(order, n, sizeof(*order), numbers_compare, &keyed);
	return order;
}

/* Adds as many rows: both lists are walked in the order of their keys. */
static int rows_add(const struct row_list *list, void *rows, size_t *n, const char *from,
		    size_t more)
{
	const size_t size = list->size, before = *n;
	size_t *here, *order, i = 0, last = SIZE_MAX;
	char *all;
	int error;

	memcpy(&all, rows, sizeof(all));
	here = rows_order(list, all, before);
	order = rows_order(list, from, more);
	error = here && order ? 0 : -ENOMEM;
	for (size_t j = 0; j < more && !error; j++) {
		const char *row = from + order[j] * size;
		int differs = -1;

		while (i < before && (differs = keys_compare(list, all + here[i] * size, row)) < 0)
			i++;
		if (i < before && !differs)
			last = here[i];
		else if (last != SIZE_MAX && keys_compare(list, all + last * size, row))
			last = SIZE_MAX;
		error = row_add_to(list, rows, n, row, last == SIZE_MAX ? NULL : all + last * size);
		memcpy(&all, rows, sizeof(all));
		last = last == SIZE_MAX ? *n - 1 : last;
	}
	free(here);
	free(order);
	return error;
}

/* --- Sorting --- */

#define ORDERS_MOST 4
struct order {
	size_t figure;
	const struct field *by[ORDERS_MOST];
};

static int rows_compare(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	uint64_t x = row_figure(a, order->figure), y = row_figure(b, order->figure);
	int result = (x < y) - (x > y);

	for (size_t i = 0; i < ORDERS_MOST && order->by[i] && !result; i++)
		result = field_compare(order->by[i], a, b);
	return result;
}

/* Without sort keys, rows stay in order of arrival. */
void row_list_sort(const struct row_list *list, void *rows, size_t n)
{
	struct order order = { .figure = list->total ? list->total : list->count };

	for (const struct field *field = list->fields; field->key; field++)
		if (field->order && field->order <= ORDERS_MOST)
			order.by[field->order - 1] = field;
	if (n && order.by[0])
		qsort_r(rows, n, list->size, rows_compare, &order);
}

/* --- All lists of a structure --- */

char *row_list_of(const struct field *field, const void *structure, size_t *n)
{
	char *rows;

	memcpy(&rows, (const char *)structure + field->at, sizeof(rows));
	memcpy(n, (const char *)structure + field->n, sizeof(*n));
	return rows;
}

int row_lists_merge(const struct field *fields, void *into, const void *from)
{
	int error = 0;

	for (size_t n; fields->key && !error; fields++) {
		const char *rows = fields->list ? row_list_of(fields, from, &n) : NULL;
		size_t *n_into = (size_t *)((char *)into + fields->n);

		if (rows && n > ROWS_MANY && !fields->list->most)
			error = rows_add(fields->list, (char *)into + fields->at, n_into, rows, n);
		else
			for (size_t i = 0; rows && i < n && !error; i++)
				error = row_list_add(fields->list, (char *)into + fields->at,
						     n_into, rows + i * fields->list->size);
	}
	return error;
}

void row_lists_sort(const struct field *fields, void *structure)
{
	for (size_t n; fields->key; fields++)
		if (fields->list) {
			char *rows = row_list_of(fields, structure, &n);

			row_list_sort(fields->list, rows, n);
		}
}

void row_list_free(const struct row_list *list, void *rows, size_t n)
{
	for (char *row = rows; n--; row += list->size)
		fields_free(list->fields, row);
	free(rows);
}

void row_lists_free(const struct field *fields, void *structure)
{
	for (size_t n; fields->key; fields++)
		if (fields->list) {
			char *rows = row_list_of(fields, structure, &n);

			row_list_free(fields->list, rows, n);
		}
}
