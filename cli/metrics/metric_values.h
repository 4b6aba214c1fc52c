/* SPDX-License-Identifier: Apache-2.0 */
/* The values of all series: a row for each kind and set of labels. As the labels are
 * the key, no two series are the same, whatever the threads are called. */
#ifndef METRIC_VALUES_H
#define METRIC_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "cli/model/distribution.h"
#include "metric_family.h"
#include "metric_labels.h"
#include "metrics.h"

struct metric_row {
	struct metric_row *parent; /* of its thread; NULL: it is that itself, or has none */
	const char *labels;
	uint64_t sample; /* that touched it last */
	uint64_t seen;   /* the end of that sample's window */
	uint64_t period; /* in which that was */
	uint32_t length, hash;
	enum metric_kind kind;
	bool with_tid;
	uint64_t values[];
};

struct metric_rows {
	struct metric_row **rows;
	size_t n, room;
};

struct metrics {
	struct report_options options;
	struct metric_rows kinds[METRIC_KINDS];
	size_t kind_series[METRIC_KINDS]; /* of a row */
	struct metric_row **table;        /* by hash; a power of two of them */
	size_t n_table, n_rows;
	size_t series, limit;
	uint32_t seed;
	bool failed;          /* no memory */
	bool refused;         /* since the last sweep there was no room for a row */
	uint64_t now;         /* the end of the last window */
	uint64_t sample;      /* samples added */
	uint64_t period;      /* now, in minutes: of maxima */
	struct timespec wall; /* when the last one was reported */
	bool windows_set;     /* the histogram of windows is that of the triggers */
};

/* Finds the row with these labels or makes one of zeros, and notes that the present
 * sample has it. NULL if there is no room, which is counted, or no memory, which sets
 * failed. */
struct metric_row *metric_row_touch(struct metrics *metrics, enum metric_kind kind,
				    struct metric_row *parent, const struct metric_labels *labels);

/* Finds it as it is; NULL if there is none. */
struct metric_row *metric_row_find(const struct metrics *metrics, enum metric_kind kind,
				   const struct metric_labels *labels);

/* Forgets threads by their TID that no sample of the last minutes had; and by their
 * name, if there was no room for others. */
void metric_rows_sweep(struct metrics *metrics);

/* Adds to a column, up to the largest number. */
void metric_row_sum(struct metric_row *row, unsigned int column, uint64_t value);

/* A column for maxima becomes at least so large. */
void metric_row_max(struct metric_row *row, unsigned int column, uint64_t value);

/* Adds a duration to a row that is a histogram. */
void metric_row_duration(struct metric_row *row, uint64_t ns);

/* Adds durations whose sum is total: those of a bucket where its limit belongs. */
void metric_row_distribution(struct metric_row *row, const struct distribution *distribution,
			     uint64_t total);

/* What a column's value is now, as it is to be written. */
uint64_t metric_row_value(const struct metrics *metrics, const struct metric_row *row,
			  unsigned int column);

/* Adds what is of threads. What fails is noted in metrics. */
void metric_take_threads(struct metrics *metrics, const struct sample *sample);

#endif
