// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "summary_rank.h"

#include <stdlib.h>

/* A count that varies by its own mean weighs as much as a time that does by this part of the
 * window: times are what people look for. */
#define COUNT_WEIGHT 0.001

#define LEAST 0.001

struct ranking {
	const struct summary *summary;
	const struct summary_thread *thread;
};

/* How much it varies; and how large it is. */
static double weight(const struct ranking *ranking, size_t index, bool size)
{
	const struct summary *summary = ranking->summary;
	const struct statistic *value = summary_value(ranking->thread, index);
	double window = (double)summary->ns / (double)summary->samples;
	double amount = size ? value->mean : statistic_deviation(value, ranking->thread->n);

	if (summary->measures.all[index].is_time)
		return window > 0 ? amount / window : 0;
	return COUNT_WEIGHT * (value->mean > 1 ? amount / value->mean : amount);
}

static int measure_compare(const void *a, const void *b, void *context)
{
	const size_t *x = a, *y = b;

	for (int size = 0; size < 2; size++) {
		double left = weight(context, *x, size), right = weight(context, *y, size);

		if (left != right)
			return left < right ? 1 : -1;
	}
	return (*x > *y) - (*x < *y);
}

size_t summary_rank_measures(const struct summary *summary, const struct summary_thread *thread,
			     size_t *order)
{
	struct ranking ranking = { summary, thread };
	size_t n = 0;

	for (size_t i = 0; i < summary->measures.n; i++) {
		const struct statistic *value = summary_value(thread, i);

		if (value && value->max > 0)
			order[n++] = i;
	}
	qsort_r(order, n, sizeof(*order), measure_compare, &ranking);
	return n;
}

bool summary_varies(const struct summary *summary, const struct summary_thread *thread,
		    size_t measure)
{
	const struct ranking ranking = { summary, thread };

	return summary_value(thread, measure) && weight(&ranking, measure, false) >= LEAST;
}

static double mean_of(const struct summary_thread *thread, size_t index)
{
	const struct statistic *value = summary_value(thread, index);

	return value ? value->mean : 0;
}

static int thread_compare(const void *a, const void *b)
{
	const struct summary_thread *const *x = a, *const *y = b;

	for (size_t index = MEASURE_KEPT;; index = MEASURE_BUSY) {
		double left = mean_of(*x, index), right = mean_of(*y, index);

		if (left != right)
			return left < right ? 1 : -1;
		if (index == MEASURE_BUSY)
			return (*x > *y) - (*x < *y); /* as they came */
	}
}

void summary_rank_threads(const struct summary *summary, const struct summary_thread **order)
{
	for (size_t i = 0; i < summary->n; i++)
		order[i] = &summary->threads[i];
	qsort(order, summary->n, sizeof(struct summary_thread *), thread_compare);
}
