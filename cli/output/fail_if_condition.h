/* SPDX-License-Identifier: Apache-2.0 */
/* A condition on samples, as given by an option. */
#ifndef FAIL_IF_CONDITION_H
#define FAIL_IF_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/model/figures.h"
#include "cli/model/sample.h"

/* --- Metrics of conditions: figures of threads and of samples --- */

/* Fields of a metric; VALUE: a single number. */
enum fail_field {
	FAIL_VALUE,
	FAIL_COUNT,
	FAIL_TOTAL,
	FAIL_MAX,
	FAIL_SHARES, /* as in distribution_shares[] */
	FAIL_PCT = FAIL_SHARES + DISTRIBUTION_SHARES,
	FAIL_SHARE, /* of busy time */
	FAIL_BYTES,
	FAIL_FIELDS,
};

#define FAIL_HAS(field) (1U << (field))

/* What a metric is of: one that is not of threads covers a sample, or all of them. */
enum fail_metric_kind {
	FAIL_THREADS,
	FAIL_SAMPLE,
	FAIL_WAITS,
	FAIL_VERDICT,
	FAIL_PRESSURE,
	FAIL_SOFTIRQS,
	FAIL_CHANGED,
};

#define FAIL_NAMES FAIL_HAS(FAIL_FIELDS) /* also METRIC.NAME.FIELD */

/* What conditions need besides an enum scan. */
enum fail_need {
	NEEDS_COMPARISON = 1 << 16,
	NEEDS_CALL_NAMES = 1 << 17, /* if the condition has a name */
	NEEDS_PRESSURE = 1 << 18,
};

struct fail_metric {
	const char *name; /* NULL: see fail_metric_title() */
	enum fail_metric_kind kind;
	unsigned int fields; /* 0: see fail_metric_fields() */
	unsigned int needs;  /* enum scan or fail_need; a list says itself what it needs */
	/* FAIL_THREADS: where the figures are; without a NAME in all, if that has others. The
	 * total is the time in these ledger states, FAIL_HAS(), if there are any. */
	struct figures_source figures, all;
	unsigned int states;
	uint64_t (*value)(const struct sample *sample);                      /* FAIL_SAMPLE */
	const struct pressure_set *(*pressure)(const struct sample *sample); /* FAIL_PRESSURE */
	const char *const *names; /* all that NAME can be, or some if unknown is NULL */
	size_t n_names, step;     /* step: bytes from one to the next */
	const char *unknown;      /* what is wrong with another name */
};

/* Metric at an index, NULL after the last one. */
const struct fail_metric *fail_metric_at(size_t index);

/* METRIC, as in the text of a condition. */
const char *fail_metric_title(const struct fail_metric *metric);

/* Mask of FAIL_HAS() and FAIL_NAMES. */
unsigned int fail_metric_fields(const struct fail_metric *metric);

/* True for FAIL_SHARES, which samples with distributions have. */
bool fail_field_is_share(enum fail_field field);

bool fail_field_is_percentage(enum fail_field field);

bool fail_field_is_time(enum fail_field field);

/* As in METRIC.FIELD; "" for FAIL_VALUE. */
const char *fail_field_name(enum fail_field field);

/* Known names; NULL after the last one. */
const char *fail_metric_name(const struct fail_metric *metric, size_t index);

/* True for thread metrics. Waits are both, and not handled here. */
bool fail_metric_of_threads(const struct fail_metric *metric);

/* --- Conditions --- */

#define FAIL_PERCENT NSEC_PER_SEC /* percentages have nine decimals */
#define CONDITION_TEXT_LEN 128

/* What the run's samples will have; for replayed samples unknown until they are read. */
struct fail_recorded {
	bool replayed;
	unsigned int has;                   /* enum scan, fail_need */
	const struct counter_set *counters; /* NULL: none */
};

struct condition {
	const char *option; /* "--fail-if" */
	const char *text;
	char threads[CONDITION_TEXT_LEN]; /* a pattern; "": all */
	char glob[CONDITION_TEXT_LEN];    /* of labels; "": all */
	const struct fail_metric *metric;
	enum fail_field field;
	bool below, equal; /* < or <=; >= or <= */
	uint64_t threshold;
	struct excess excess;
};

/* Parses a condition; option and text must outlive it. Returns 0, EX_USAGE after printing what
 * is wrong, or EX_OSERR without memory. */
exit_status condition_read(struct condition *condition, const char *option, const char *given,
			   const struct fail_recorded *recorded);

/* Checks that the sample, the number-th of the run, has the condition's data, without which its
 * truth is unknown. Returns 0, or EX_DATAERR after printing what is missing. */
exit_status condition_find(const struct condition *condition, const struct sample *sample,
			   uint64_t number);

#endif
