/* SPDX-License-Identifier: Apache-2.0 */
#include "traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NSEC 1000000000ULL

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static int three_way(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int traces_add(struct trace_list *list, const struct trace_row *row)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct trace_row *rows = reallocarray(list->rows, room, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		list->rows = rows;
		list->room = room;
	}
	list->rows[list->n++] = *row;
	return 0;
}

static int row_by_end(const void *a, const void *b)
{
	const struct trace_row *x = a, *y = b;
	int order = three_way(x->kind, y->kind);

	if (!order)
		order = three_way(!x->end, !y->end);
	if (!order)
		order = three_way(x->end, y->end);
	if (!order)
		order = three_way(x->start, y->start);
	return order ? order : (x->tid > y->tid) - (x->tid < y->tid);
}

void traces_finish(struct trace_list *list)
{
	if (list->n)
		qsort(list->rows, list->n, sizeof(*list->rows), row_by_end);
}

void traces_clear(struct trace_list *list)
{
	free(list->rows);
	memset(list, 0, sizeof(*list));
}

uint64_t traces_lost(const struct trace_list *list)
{
	return add(add(list->lost, list->beyond), list->failed);
}

uint64_t trace_duration(const struct trace_list *list, const struct trace_row *row,
			uint64_t window_end)
{
	uint64_t end = row->end ? row->end : window_end;

	if (row->kind == TRACE_SAMPLE)
		return list->profile_hz ? NSEC / list->profile_hz : 0;
	return end > row->start ? end - row->start : 0;
}

static int by_thread(const struct trace_row *x, const struct trace_row *y)
{
	int order = strncmp(x->name, y->name, sizeof(x->name));

	return order ? order : (x->tid > y->tid) - (x->tid < y->tid);
}

static int by_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* Frames of one function are alike, wherever in it they are. */
static int by_function(const struct frame *a, const struct frame *b)
{
	int order = by_text(a->object, b->object);

	if (!order)
		order = by_text(a->function, b->function);
	if (!order && !a->function)
		order = three_way(a->offset, b->offset);
	return order;
}

/* Of running code hardly any two samples are of the same instruction: their stacks
 * are alike if they are in the same functions. */
static int by_stack(enum trace_kind kind, const struct stack *a, const struct stack *b)
{
	int order = 0;

	if (a == b || !a || !b || kind != TRACE_SAMPLE)
		return three_way((uintptr_t)a, (uintptr_t)b);
	for (size_t i = 0; !order && i < a->n && i < b->n; i++)
		order = by_function(&a->frames[i], &b->frames[i]);
	if (!order)
		order = three_way(a->n, b->n);
	return order ? order : by_text(a->stop, b->stop);
}

static int by_likeness(const struct trace_row *x, const struct trace_row *y)
{
	int order = by_thread(x, y);

	if (!order)
		order = (x->call > y->call) - (x->call < y->call);
	if (!order)
		order = three_way(x->state, y->state);
	if (!order)
		order = by_stack(x->kind, x->kernel, y->kernel);
	if (!order)
		order = by_stack(x->kind, x->user, y->user);
	if (!order && !x->user) /* or else their reasons differ */
		order = three_way(x->limited, y->limited);
	return order;
}

/* The list's order where rows are alike: addresses of stacks differ from run to run,
 * but they only keep the unlike apart. */
static int place_by_likeness(const void *a, const void *b)
{
	const struct trace_row *const *x = a, *const *y = b;
	int order = by_likeness(*x, *y);

	return order ? order : (*x > *y) - (*x < *y);
}

static int sum_by_total(const void *a, const void *b)
{
	const struct trace_sum *x = a, *y = b;
	int order = three_way(y->total, x->total);

	if (!order)
		order = by_thread(x->longest, y->longest);
	return order ? order : (x->longest > y->longest) - (x->longest < y->longest);
}

static bool same_end(const struct trace_row *x, const struct trace_row *y)
{
	return x->ended_by == y->ended_by &&
	       !strncmp(x->ended_by_name, y->ended_by_name, sizeof(x->ended_by_name));
}

static void sum_add(struct trace_sum *sum, const struct trace_row *row, uint64_t duration)
{
	if (!sum->count) {
		sum->longest = row;
		sum->same_end = sum->same_ip = true;
	}
	sum->same_end = sum->same_end && same_end(sum->longest, row);
	sum->same_ip = sum->same_ip && sum->longest->user_ip == row->user_ip;
	if (duration > sum->max) {
		sum->longest = row;
		sum->max = duration;
	}
	sum->count++;
	sum->total = add(sum->total, duration);
}

/* The places of the rows of a kind, in the order of their likeness. */
static size_t places_sort(const struct trace_list *list, enum trace_kind kind,
			  const struct trace_row **places)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->rows[i].kind == kind)
			places[n++] = &list->rows[i];
	if (n)
		qsort(places, n, sizeof(*places), place_by_likeness);
	return n;
}

/* The sums of one thread get its count. */
static void threads_count(struct trace_sum *sums, size_t n)
{
	for (size_t i = 0, next; i < n; i = next) {
		uint64_t count = 0;

		for (next = i; next < n && !by_thread(sums[i].longest, sums[next].longest); next++)
			count += sums[next].count;
		for (size_t j = i; j < next; j++)
			sums[j].of_thread = count;
	}
}

int traces_merge(const struct trace_list *list, enum trace_kind kind, uint64_t window_end,
		 struct trace_sum **sums, size_t *n)
{
	const struct trace_row **places = NULL;
	size_t n_rows;

	*sums = NULL;
	*n = 0;
	if (!list->n)
		return 0;
	places = calloc(list->n, sizeof(*places));
	if (!places)
		return -ENOMEM;
	n_rows = places_sort(list, kind, places);
	if (!n_rows)
		goto out;
	*sums = calloc(n_rows, sizeof(**sums));
	if (!*sums) {
		free(places);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n_rows; i++) {
		*n += !i || by_likeness(places[i - 1], places[i]);
		sum_add(&(*sums)[*n - 1], places[i], trace_duration(list, places[i], window_end));
	}
	threads_count(*sums, *n);
	qsort(*sums, *n, sizeof(**sums), sum_by_total);
out:
	free(places);
	return 0;
}
