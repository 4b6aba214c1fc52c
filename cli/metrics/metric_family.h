/* SPDX-License-Identifier: Apache-2.0 */
/* Metric families listed in metrics.c, and where their values are. */
#ifndef METRIC_FAMILY_H
#define METRIC_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/model/run_figures.h"
#include "cli/model/sample.h"
#include "cli/model/words.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO, METRIC_HISTOGRAM };

/* Kinds of rows: values with equal labels share a row. */
enum metric_kind {
	METRIC_BUILD,
	METRIC_CAPTURE,
	METRIC_ENDING, /* by ending of samples */
	METRIC_RUN,
	METRIC_WINDOW,
	METRIC_TRIGGER,
	METRIC_BUSY,
	METRIC_CAUSE,
	METRIC_UPCALL,
	METRIC_LOSS,
	METRIC_ABSENCE,
	METRIC_DISK,
	METRIC_PROCESS,
	METRIC_IMAGE,  /* container image of a process */
	METRIC_USAGE,  /* of a process */
	METRIC_THREAD, /* from here on of a thread: */
	METRIC_READY_BY,
	METRIC_BLOCKED,
	METRIC_OVERSLEPT,
	METRIC_LISTS, /* plus enum list_id */
	METRIC_LISTS_LAST = METRIC_LISTS + LISTS - 1,
	METRIC_IO,
	METRIC_CALL,
	METRIC_OPEN_CALL,
	METRIC_INTERRUPTION,
	METRIC_LATE_TICK,
	METRIC_SLOW_CALL,
	METRIC_WAIT,
	METRIC_WAIT_END,
	METRIC_PROFILE,
	METRIC_STATISTIC_TIME, /* over samples */
	METRIC_STATISTIC_COUNT,
	METRIC_STATISTIC_RATE,
	METRIC_PERIOD_TIMES, /* histograms */
	METRIC_CALL_TIMES,
	METRIC_LIST_TIMES, /* plus enum list_id */
	METRIC_LIST_TIMES_LAST = METRIC_LIST_TIMES + LISTS - 1,
	METRIC_KINDS,
};

/* Limit on named rows per thread and kind, and on disks: names come and go, series stay. */
#define METRIC_NAMED_ROWS 16
#define METRIC_OTHER "other" /* and the row of the others */

/* Buckets of a histogram, except the last, unbounded one. */
#define METRIC_BUCKETS 28

/* Columns of the rows. A maximum has two: of this period and the previous one. */
enum { ONE_VALUE, ONE_COLUMN };
enum {
	STATISTIC_MIN,
	STATISTIC_MEAN,
	STATISTIC_MAX,
	STATISTIC_STDDEV,
	STATISTIC_JITTER,
	STATISTIC_EWMA,
	STATISTIC_COLUMNS,
};
enum { EVENTS_COUNT, EVENTS_TOTAL, EVENTS_MAX, EVENTS_BEFORE, EVENTS_COLUMNS };
#define RUN_COLUMN(id, ...) RUN_##id,
enum { SAMPLE_FIGURES(RUN_COLUMN) TRIGGER_FIGURES(RUN_COLUMN) RUN_COLUMNS }; /* RUN_MEASURED ... */
#undef RUN_COLUMN
enum { PROCESS_BEGAN, PROCESS_ENDED, PROCESS_BUSY, PROCESS_KEPT, PROCESS_ALIVE, PROCESS_COLUMNS };
enum { USAGE_CPU, USAGE_RESENT, USAGE_MEMORY, USAGE_PEAK, USAGE_COLUMNS };
enum { IO_READ_CALLS, IO_WRITTEN_CALLS, IO_READ_BYTES, IO_WRITTEN_BYTES, IO_COLUMNS };
enum { LIST_BYTES = EVENTS_COLUMNS, LIST_COLUMNS };
enum { TRIGGER_COST = KD_OUTCOMES, TRIGGER_UNMET, TRIGGER_UNREAD, TRIGGER_COLUMNS };
enum {
	HISTOGRAM_BEYOND = METRIC_BUCKETS, /* counts are not cumulative */
	HISTOGRAM_SUM,
	HISTOGRAM_COLUMNS,
};
#define PERIOD_COLUMN(kind, key, label) PERIOD_##kind,
enum metric_period { PERIOD_WORDS(PERIOD_COLUMN, PERIOD_COLUMN) PERIODS }; /* PERIOD_OPEN_RUN ... */
#undef PERIOD_COLUMN
enum {
	THREAD_EXEC = LEDGER_STATES, /* after the states */
	THREAD_ENDED,
#define FIGURE_COLUMN(member, ...) THREAD_COUNTER_##member,
	EACH_THREAD_FIGURE(FIGURE_COLUMN) /* THREAD_COUNTER_voluntary and so on */
#undef FIGURE_COLUMN
	THREAD_RINGS,
	THREAD_CALL_ROWS,    /* its rows of METRIC_CALL, except "other" */
	THREAD_CULPRIT_ROWS, /* and of METRIC_READY_BY */
	THREAD_LIST_ROWS,    /* and of METRIC_LISTS */
	THREAD_PERIODS = THREAD_LIST_ROWS + LISTS,
	THREAD_PERIOD_NS = THREAD_PERIODS + PERIODS,
	THREAD_MAX = THREAD_PERIOD_NS + PERIODS,
	THREAD_MAX_BEFORE = THREAD_MAX + PERIODS,
	THREAD_MEMBERS = THREAD_MAX_BEFORE + PERIODS,
	THREAD_CPUS,
	THREAD_MIN,
	THREAD_OPEN = THREAD_MIN + PERIODS,
	THREAD_COLUMNS = THREAD_OPEN + PERIODS,
};

/* Behavior of a kind's columns. */
struct metric_columns {
	unsigned int n;
	unsigned int max, n_max; /* maxima: first column, number */
	unsigned int last;       /* columns from here on only hold the last sample */
};

/* A series of a family, one per row of its kind. */
struct metric_point {
	const char *labels; /* added to the row's, formatted, without braces */
	unsigned int column;
	bool not_zero; /* omitted while its value is 0 */
};

struct metric_family {
	const char *name; /* counters without _total, infos without _info */
	enum metric_type type;
	const char *unit; /* "": none; "seconds": values are ns */
	const char *labels;
	const char *help; /* without backslash, quote or line feed */
	enum metric_kind kind;
	const struct metric_point *points;
	size_t n_points;
	bool billionths; /* without unit: values are in billionths */
};

extern const struct metric_family metric_families[];
extern const size_t metric_n_families;
extern const struct metric_columns metric_columns[METRIC_KINDS];

/* Upper limit of a bucket in ns, and in seconds in its only allowed spelling. */
struct metric_bucket {
	uint64_t ns;
	const char *le;
};
extern const struct metric_bucket metric_buckets[METRIC_BUCKETS];

const char *metric_type_name(enum metric_type type);

/* Most series per row of this kind. */
size_t metric_kind_series(enum metric_kind kind);

#endif
