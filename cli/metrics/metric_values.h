/* SPDX-License-Identifier: Apache-2.0 */
/* Values of all series: a row per kind and set of labels. Labels are the key, so series are
 * always distinct, whatever the names of threads. */
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
	struct metric_row *parent; /* row of its thread; NULL: is one itself, or has none */
	const char *labels;
	uint64_t sample; /* latest sample that touched it */
	uint64_t seen;   /* end of that sample's window */
	uint64_t period; /* period of that */
	uint32_t length, hash;
	enum metric_kind kind;
	bool with_tid;
	uint64_t values[];
};

struct metric_rows {
	struct metric_row **rows;
	size_t n, capacity;
};

struct metrics {
	struct report_options options;
	struct metric_rows kinds[METRIC_KINDS];
	size_t kind_series[METRIC_KINDS]; /* per row */
	struct metric_row **table;        /* by hash; size is a power of two */
	size_t n_table, n_rows;
	size_t series, limit;
	uint32_t seed;
	bool failed;          /* no memory */
	bool refused;         /* a row was refused for lack of space since the last sweep */
	uint64_t now;         /* end of the latest window */
	uint64_t sample;      /* samples added */
	uint64_t period;      /* now, in minutes: for maxima */
	struct timespec wall; /* when the latest sample was reported */
	bool windows_set;     /* the histogram of windows comes from the triggers */
};

/* Finds the row with these labels or makes a zeroed one, and marks it as used by the current
 * sample. NULL: no space, which is counted, or no memory, which sets failed. */
struct metric_row *metric_row_touch(struct metrics *metrics, enum metric_kind kind,
				    struct metric_row *parent, const struct metric_labels *labels);

/* Finds a row without touching it; NULL: none. */
struct metric_row *metric_row_find(const struct metrics *metrics, enum metric_kind kind,
				   const struct metric_labels *labels);

/* Drops TID rows that no sample used in the last minutes; also name rows if space ran out. */
void metric_rows_sweep(struct metrics *metrics);

/* Adds to a column; saturates. */
void metric_row_sum(struct metric_row *row, unsigned int column, uint64_t value);

/* Raises a maximum to at least this value. */
void metric_row_max(struct metric_row *row, unsigned int column, uint64_t value);

/* Adds a duration to a histogram row. */
void metric_row_duration(struct metric_row *row, uint64_t ns);

/* Adds durations that sum up to total; each bucket goes where its limit belongs. */
void metric_row_distribution(struct metric_row *row, const struct distribution *distribution,
			     uint64_t total);

/* Current value of a column, as written. */
uint64_t metric_row_value(const struct metrics *metrics, const struct metric_row *row,
			  unsigned int column);

/* Adds the metrics of threads. Failures are noted in metrics. */
void metric_take_threads(struct metrics *metrics, const struct sample *sample);

#endif
