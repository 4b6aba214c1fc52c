/* SPDX-License-Identifier: Apache-2.0 */
/* A condition on samples, as an option gave it. */
#ifndef FAIL_IF_CONDITION_H
#define FAIL_IF_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/model/excess.h"
#include "cli/model/sample.h"

/* --- What conditions can be about: figures of threads and of samples --- */

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

/* --- Conditions --- */

#define FAIL_PERCENT NSEC_PER_SEC /* thresholds of percentages have nine decimals */
#define CONDITION_TEXT_LEN 128

/* What the samples of a run are going to have that not all have; of samples that are replayed
 * it is known when they are read. */
struct fail_recorded {
	bool replayed, waits, distributions, interruptions, resources, comparison;
	const struct counter_set *counters; /* NULL: none */
};

struct condition {
	const char *option; /* "--fail-if" */
	const char *text;
	char threads[CONDITION_TEXT_LEN]; /* a pattern; "": all */
	char part[CONDITION_TEXT_LEN];    /* a pattern; "": all */
	const struct fail_metric *metric;
	enum fail_field field;
	bool below, equal; /* < or <=; >= or <= */
	uint64_t threshold;
	struct excess excess;
};

/* Reads one; option and text have to outlive it. Returns 0, or after printing what is wrong with it
 * EX_USAGE, or EX_OSERR without memory. */
exit_status condition_read(struct condition *condition, const char *option, const char *given,
			   const struct fail_recorded *recorded);

/* Whether the sample, the number-th of the run, holds what the condition is about: else nobody
 * knows whether it is true. Returns 0, or after printing what is missing EX_DATAERR. */
exit_status condition_find(const struct condition *condition, const struct sample *sample,
			   uint64_t number);

#endif
