/* SPDX-License-Identifier: Apache-2.0 */
/* What conditions can be about: figures of threads and of samples. */
#ifndef FAIL_IF_METRICS_H
#define FAIL_IF_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/model/sample.h"

/* What is asked of a metric; VALUE: it is a single number. */
enum fail_field {
	FAIL_VALUE,
	FAIL_COUNT,
	FAIL_TOTAL,
	FAIL_MAX,
	FAIL_SHARES, /* as distribution_shares[] */
	FAIL_PCT = FAIL_SHARES + DISTRIBUTION_SHARES,
	FAIL_SHARE, /* of busy time */
	FAIL_BYTES,
	FAIL_FIELDS,
};

#define FAIL_HAS(field) (1U << (field))

enum fail_metric_kind {
	FAIL_PERIOD,
	FAIL_STATES,
	FAIL_READY_BY,
	FAIL_AWAITED,
	FAIL_INTERRUPTION,
	FAIL_SYSCALL,
	FAIL_COUNTER,
	FAIL_READ, /* by kind of descriptor */
	FAIL_WRITTEN,
	FAIL_LIST, /* rows, by name */
	/* from here on not of threads */
	FAIL_WAITS,
	FAIL_VERDICT,
	FAIL_CHANGED,
	FAIL_THREADS,
	FAIL_UPCALLS,
	FAIL_UPCALL_ERRORS,
	FAIL_LOST,
	FAIL_MEMORY,
	FAIL_RESENT,
};

struct fail_metric {
	const char *name;
	enum fail_metric_kind kind;
	unsigned int fields;         /* FAIL_HAS() */
	unsigned int states;         /* of the ledger that it is the sum of, FAIL_HAS() */
	enum open_kind period;       /* of FAIL_PERIOD */
	const struct row_list *list; /* of FAIL_LIST */
	size_t counter;              /* FAIL_COUNTER: where it is in struct thread_row */
};

/* Counts and ns. */
struct fail_figures {
	uint64_t count, total, max;
	uint64_t shares[DISTRIBUTION_SHARES]; /* of several parts: each the largest of any */
	uint64_t bytes;
	uint64_t open; /* the longest that was not over at the window's end; 0: none */
};

/* The metric at an index, NULL behind the last one. */
const struct fail_metric *fail_metric_at(size_t index);

/* Whether it is one of FAIL_SHARES, which samples with distributions have. */
bool fail_field_is_share(enum fail_field field);

/* Whether it is a percentage. */
bool fail_field_is_percentage(enum fail_field field);

/* Whether it is a time. */
bool fail_field_is_time(enum fail_field field);

/* As in METRIC.FIELD; "" for FAIL_VALUE. */
const char *fail_field_name(enum fail_field field);

/* Whether a part of it may be named: METRIC.NAME.FIELD. */
bool fail_metric_has_parts(const struct fail_metric *metric);

/* Whether it is one of threads. Waits are both, and not read here. */
bool fail_metric_of_threads(const struct fail_metric *metric);

/* Whether only samples with resources have it. */
bool fail_metric_of_resources(const struct fail_metric *metric);

/* The figures of a metric (not FAIL_WAITS, FAIL_VERDICT and FAIL_CHANGED) in a sample or, if it is
 * of threads, of that thread in it; of those parts that match the pattern, all if it is "". Figures
 * of several threads without events are those of one of them. */
struct fail_figures fail_metric_read(const struct fail_metric *metric, const char *part,
				     const struct sample *sample, const struct thread_row *thread);

/* The value of a field that is no share; of percentages, of what there is a share. */
uint64_t fail_figures_field(const struct fail_figures *figures, enum fail_field field);

/* Whether that is the length so far of what was not over at the window's end. */
bool fail_figures_so_far(const struct fail_figures *figures, enum fail_field field);

#endif
