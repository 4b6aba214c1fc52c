// SPDX-License-Identifier: Apache-2.0
/* Statistics over samples as metrics: of all threads together, and of those few that were kept
 * from running most. */
#include <errno.h>
#include <stdlib.h>

#include "cli/base/clock.h"
#include "cli/model/summary.h"
#include "metric_values.h"

#define BILLION 1e9

/* A value as rows have it: ns, or billionths of what is no time. */
static uint64_t figure_of(double value, double unit)
{
	value *= unit;
	return value < (double)UINT64_MAX ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

static void statistic_take(struct metrics *metrics, enum metric_kind kind,
			   const struct metric_labels *labels, const struct statistic *statistic,
			   uint64_t n, double unit)
{
	struct metric_row *row = metric_row_touch(metrics, kind, NULL, labels);
	const double values[STATISTIC_COLUMNS] = {
		[STATISTIC_MIN] = statistic->min,
		[STATISTIC_MEAN] = statistic->mean,
		[STATISTIC_MAX] = statistic->max,
		[STATISTIC_STDDEV] = statistic_deviation(statistic, n),
		[STATISTIC_JITTER] = statistic_jitter(statistic, n),
		[STATISTIC_EWMA] = statistic->ewma,
	};

	for (unsigned int i = 0; row && i < STATISTIC_COLUMNS; i++)
		row->values[i] = figure_of(values[i], unit);
}

static void thread_take(struct metrics *metrics, const struct summary *summary,
			const struct summary_thread *thread, size_t *order, size_t most)
{
	size_t n = summary_rank_measures(summary, thread, order);

	for (size_t i = 0; i < n && i < most; i++) {
		const struct measure *measure = &summary->measures.all[order[i]];
		const struct statistic *value = summary_value(thread, order[i]);
		struct metric_labels labels = { .length = 0 };
		char title[MEASURE_KEY];
		struct statistic rate;

		if (thread != &summary->all)
			metric_labels_foreign(&labels, "thread",
					      *thread->name ? thread->name : "[unknown]",
					      KD_COMM_LEN, "");
		else
			metric_labels_add(&labels, "thread", "[all]");
		if (thread->tid)
			metric_labels_number(&labels, "tid", (unsigned long)thread->tid);
		measure_title(measure, title);
		metric_labels_add(&labels, "measure", title);
		statistic_take(metrics,
			       measure->is_time ? METRIC_STATISTIC_TIME : METRIC_STATISTIC_COUNT,
			       &labels, value, thread->n, measure->is_time ? 1 : BILLION);
		/* Time by time is a share: ns per second are billionths. */
		if (summary_rate(summary, thread, order[i], &rate))
			statistic_take(metrics, METRIC_STATISTIC_RATE, &labels, &rate, thread->n,
				       measure->is_time ? 1 : BILLION);
	}
}

int metrics_add_summary(struct metrics *metrics, const struct summary *summary)
{
	const struct summary_thread **threads = calloc(summary->n + 1, sizeof(*threads));
	size_t *order = calloc(summary->measures.n, sizeof(*order));

	metrics->failed = !threads || !order;
	if (!metrics->failed) {
		summary_rank_threads(summary, threads);
		thread_take(metrics, summary, &summary->all, order, SIZE_MAX);
		for (size_t i = 0; i < summary->n && i < METRIC_NAMED_ROWS; i++)
			thread_take(metrics, summary, threads[i], order, METRIC_NAMED_ROWS);
	}
	free(threads);
	free(order);
	return metrics->failed ? -ENOMEM : 0;
}
