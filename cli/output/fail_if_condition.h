/* SPDX-License-Identifier: Apache-2.0 */
/* A condition on samples, as an option gave it. */
#ifndef FAIL_IF_CONDITION_H
#define FAIL_IF_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/model/excess.h"
#include "fail_if_metrics.h"

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
