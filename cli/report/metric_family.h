/* SPDX-License-Identifier: Apache-2.0 */
/* What metrics.c lists: the families, and where their values are. */
#ifndef METRIC_FAMILY_H
#define METRIC_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "../sample.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO, METRIC_HISTOGRAM };

/* Rows of values: what has the same labels is in one row. */
enum metric_kind {
	METRIC_BUILD,
	METRIC_CAPTURE,
	METRIC_ENDING, /* of samples */
	METRIC_RUN,
	METRIC_WINDOW,
	METRIC_TRIGGER,
	METRIC_UPCALL,
	METRIC_LOSS,
	METRIC_ABSENCE,
	METRIC_THREAD, /* from here on with a thread: */
	METRIC_CALL,
	METRIC_OPEN_CALL,
	METRIC_HARDIRQ,
	METRIC_SOFTIRQ,
	METRIC_SLOW_CALL,
	METRIC_WAIT,
	METRIC_PROFILE,
	METRIC_PERIOD_TIMES, /* histograms */
	METRIC_CALL_TIMES,
	METRIC_KINDS,
};

/* Buckets of a histogram, without the last one, which has no limit. */
#define METRIC_BUCKETS 28

/* Columns of the rows. A maximum takes two: of this period, and of the one before. */
enum { ONE_VALUE, ONE_COLUMN };
enum { EVENTS_COUNT, EVENTS_TOTAL, EVENTS_MAX, EVENTS_BEFORE, EVENTS_COLUMNS };
enum {
	RUN_MEASURED,
	RUN_RESYNCED,
	RUN_LIMITED,
	RUN_INCOMPLETE,
	RUN_FOREIGN,
	RUN_NESTED,
	RUN_DUMP,
	RUN_CALL_THRESHOLD,
	RUN_WAIT_THRESHOLD,
	RUN_PROFILE_HZ,
	RUN_COLUMNS,
};
enum { TRIGGER_COST = KD_OUTCOMES, TRIGGER_COLUMNS };
enum {
	HISTOGRAM_BEYOND = METRIC_BUCKETS, /* counts are not cumulative */
	HISTOGRAM_SUM,
	HISTOGRAM_COLUMNS,
};
enum metric_period { PERIOD_RUNNING, PERIOD_READY, PERIOD_STOPPED, PERIOD_LONG_POLL, PERIODS };
enum {
	THREAD_EXEC = LEDGER_STATES, /* in front of it the states */
	THREAD_ENDED,
	THREAD_VOLUNTARY,
	THREAD_INVOLUNTARY,
	THREAD_MIGRATIONS,
	THREAD_CALL_ROWS, /* its rows of METRIC_CALL, without that of the others */
	THREAD_PERIODS,
	THREAD_PERIOD_NS = THREAD_PERIODS + PERIODS,
	THREAD_MAX = THREAD_PERIOD_NS + PERIODS,
	THREAD_MAX_BEFORE = THREAD_MAX + PERIODS,
	THREAD_MEMBERS = THREAD_MAX_BEFORE + PERIODS,
	THREAD_CPUS,
	THREAD_MIN_RUNNING,
	THREAD_MIN_LONG_POLL,
	THREAD_COLUMNS,
};

/* How the columns of a kind behave. */
struct metric_columns {
	unsigned int n;
	unsigned int max, n_max; /* maxima: the first, how many */
	unsigned int last;       /* from here on they are of the last sample only */
};

/* A series of a family, for each row of its kind. */
struct metric_point {
	const char *labels; /* besides the row's; as they are written, without braces */
	unsigned int column;
	bool not_zero; /* there is none while its value is 0 */
};

struct metric_family {
	const char *name; /* counters without _total, infos without _info */
	enum metric_type type;
	const char *unit; /* "": none; values of "seconds" are ns */
	const char *labels;
	const char *help; /* without backslash, quote and line feed */
	enum metric_kind kind;
	const struct metric_point *points;
	size_t n_points;
};

extern const struct metric_family metric_families[];
extern const size_t metric_n_families;
extern const struct metric_columns metric_columns[METRIC_KINDS];

/* How states and outcomes are called in labels. */
extern const char *const metric_states[LEDGER_STATES];

/* The largest ns of a bucket; as a number of seconds in its only allowed form. */
struct metric_bucket {
	uint64_t ns;
	const char *le;
};
extern const struct metric_bucket metric_buckets[METRIC_BUCKETS];

/* "counter" and so on. */
const char *metric_type_name(enum metric_type type);

/* How many series a row of this kind is, at most. */
size_t metric_kind_series(enum metric_kind kind);

#endif
