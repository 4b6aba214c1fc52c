/* SPDX-License-Identifier: Apache-2.0 */
/* What triggers did in a run: for the reports, which see nothing else of them. */
#ifndef TRIGGER_STATS_H
#define TRIGGER_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../bpf/kernel_delay.h"
#include "distribution.h"

/* A pair of start and stop that was as long as the delta and could not be
 * recorded, as another window was open when it began. */
struct nested_pair {
	pid_t tid;
	char name[KD_COMM_LEN]; /* of the thread, not escaped */
	uint64_t start, end;    /* CLOCK_MONOTONIC ns */
};

struct trigger_stats {
	const char *names[KD_ROLES]; /* as given; NULL: there is no such trigger */
	bool target_only[KD_ROLES];  /* else it fires for any process */
	uint64_t cost[KD_ROLES];     /* of a hit, estimated, ns */
	uint64_t delta;              /* ns */
	uint64_t lasted;             /* the run, ns */
	bool same_thread;
	uint64_t skipped; /* hits whose program the kernel did not run */
	struct kd_tally tally;
	struct distribution windows; /* the tally's durations */
	struct nested_pair *nested;  /* as many as could be kept, by start */
	size_t n_nested;
};

/* Makes the distribution of the windows that the tally has now. Returns 0 or -ENOMEM. */
int trigger_stats_distribute(struct trigger_stats *stats);

/* Keeps one more. Returns 0 or -ENOMEM. */
int trigger_stats_add_nested(struct trigger_stats *stats, const struct nested_pair *pair);

/* Sorts what was kept. */
void trigger_stats_finish(struct trigger_stats *stats);

/* Releases what the statistics own. */
void trigger_stats_clear(struct trigger_stats *stats);

#endif
