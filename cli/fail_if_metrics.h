/* SPDX-License-Identifier: Apache-2.0 */
/* What conditions can be about: figures of threads and of samples. */
#ifndef FAIL_IF_METRICS_H
#define FAIL_IF_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample.h"

/* What is asked of a metric; VALUE: it is a single number. */
enum fail_field {
	FAIL_VALUE,
	FAIL_COUNT,
	FAIL_TOTAL,
	FAIL_MAX,
	FAIL_SHARES, /* as distribution_shares[] */
	FAIL_PCT = FAIL_SHARES + DISTRIBUTION_SHARES,
	FAIL_FIELDS,
};

#define FAIL_HAS(field) (1U << (field))

enum fail_metric_kind {
	FAIL_RUN,
	FAIL_STATES,
	FAIL_HARDIRQ,
	FAIL_SOFTIRQ,
	FAIL_READY,
	FAIL_STOPPED,
	FAIL_SYSCALL,
	FAIL_LONG_POLL,
	FAIL_VOLUNTARY,
	FAIL_INVOLUNTARY,
	FAIL_MIGRATIONS,
	/* from here on not of threads */
	FAIL_WAITS,
	FAIL_THREADS,
	FAIL_UPCALLS,
	FAIL_UPCALL_ERRORS,
	FAIL_LOST,
};

struct fail_metric {
	const char *name;
	enum fail_metric_kind kind;
	unsigned int fields; /* FAIL_HAS() */
	unsigned int states; /* of the ledger that it is the sum of, FAIL_HAS() */
};

/* Counts and ns. */
struct fail_figures {
	uint64_t count, total, max;
	uint64_t shares[DISTRIBUTION_SHARES]; /* of several parts: each the largest of any */
};

/* The metric at an index, NULL behind the last one. */
const struct fail_metric *fail_metric_at(size_t index);

/* Whether it is one of FAIL_SHARES, which samples with distributions have. */
bool fail_field_is_share(enum fail_field field);

/* Whether it is a time. */
bool fail_field_is_time(enum fail_field field);

/* As in METRIC.FIELD; "" for FAIL_VALUE. */
const char *fail_field_name(enum fail_field field);

/* Whether a part of it may be named: METRIC.NAME.FIELD. */
bool fail_metric_has_parts(const struct fail_metric *metric);

/* Whether it is one of threads. Waits are both, and not read here. */
bool fail_metric_of_threads(const struct fail_metric *metric);

/* The figures of a metric (not FAIL_WAITS) in a sample or, if it is of threads, of
 * that thread in it; of those parts that match the pattern, all if it is "". Figures
 * of several threads without events are those of one of them. */
struct fail_figures fail_metric_read(const struct fail_metric *metric, const char *part,
				     const struct sample *sample, const struct thread_row *thread);

/* The value of a field that is no share; of FAIL_PCT, of what there is a share. */
uint64_t fail_figures_field(const struct fail_figures *figures, enum fail_field field);

#endif
