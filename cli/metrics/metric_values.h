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
#include "cli/model/verdict.h"
#include "metric_family.h"
#include "metrics.h"

/* --- Labels --- */

/* Labels of a series in both text formats: a="b",c="d". */

#define METRIC_LABELS_LEN 4096

struct metric_labels {
	size_t length;
	bool with_tid; /* of a single thread */
	char text[METRIC_LABELS_LEN];
};

/* Adds a label with a constant value: letters, digits, blanks, brackets. */
void metric_labels_add(struct metric_labels *labels, const char *name, const char *value);

/* Adds a label with any bytes as value, up to length (512 at most) or a NUL. Backslash, quote
 * and line feed are escaped. Each byte that escape_text() would show as \r or \xNN becomes
 * U+FFFD: invalid UTF-8, which readers refuse, and bytes that could affect a terminal or a
 * reader's lines. mark: a constant suffix. */
void metric_labels_foreign(struct metric_labels *labels, const char *name, const char *value,
			   size_t length, const char *mark);

void metric_labels_number(struct metric_labels *labels, const char *name, unsigned long value);

struct metric_row {
	struct metric_row *parent; /* row of its thread; NULL: is one itself, or has none */
	const char *labels;
	uint64_t sample;  /* latest sample that touched it */
	uint64_t updated; /* end of that sample's window */
	uint64_t period;  /* period of that */
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

/* Drops TID rows that no sample used in the last minutes, rows that only the latest sample has, and
 * if space ran out, all that the latest sample did not use. */
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

/* --- Processes --- */

/* Metrics of processes, for targets with more than one. */

/* True if the target may have several processes: thread series then have process labels. */
bool metric_is_multiprocess(const struct sample *sample);

/* Most bytes of a process's labels: name, container and pod, each byte of which may become 3,
 * and a PID. */
#define METRIC_PROCESS_LABEL 64
#define METRIC_PROCESS_LABELS                                                                      \
	(sizeof(",process=\"\",container=\"\",pod=\"\",pid=\"2147483647\"") + 3 * KD_COMM_LEN +    \
	 2 * 3 * METRIC_PROCESS_LABEL)

/* Adds a label of a process or its container; none without a text. */
void metric_labels_process(struct metric_labels *labels, const char *name, const char *text);

/* Adds process, and container, pod and PID where present. process NULL: unknown. */
void metric_process_labels(struct metric_labels *labels, const struct process_row *process,
			   bool with_pid);

/* Adds the labels of a single target process: only its container's. */
void metric_target_labels(struct metric_labels *labels, const struct capture *capture);

/* Returns an empty set; NULL without memory. Free it with metrics_free(). */
struct metrics *metrics_new(const struct report_options *options);
void metrics_free(struct metrics *metrics); /* NULL is allowed */

/* Sets the limit of series. Values without space are dropped and counted as
 * lost_events{reason="series"}. */
void metrics_limit(struct metrics *metrics, size_t series);

/* Upper bound on the current number of series. */
size_t metrics_series(const struct metrics *metrics);

#endif
