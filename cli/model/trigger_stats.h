/* SPDX-License-Identifier: Apache-2.0 */
/* What triggers did in a run: for the reports, which see nothing else of them. */
#ifndef TRIGGER_STATS_H
#define TRIGGER_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "distribution.h"

/* A pair of start and stop that was as long as the delta and could not be
 * recorded, as another window was open when it began. */
struct nested_pair {
	pid_t tid;
	char name[KD_COMM_LEN]; /* of the thread, not escaped */
	uint64_t start, end;    /* CLOCK_MONOTONIC ns */
};

/* The thread that lost most to the probes. */
struct probe_payer {
	pid_t tid;              /* 0: there is none */
	char name[KD_COMM_LEN]; /* not escaped */
	uint64_t cost;          /* of its hits, estimated, ns */
	uint64_t cpu;           /* its CPU time meanwhile, ns */
};

/* The times in which the probes were off, see capture/overhead.h. */
struct probe_duty {
	uint64_t off;     /* ns of the run */
	uint64_t phases;  /* how often they were taken out */
	uint64_t dropped; /* windows that were open then */
	/* CPU time, ns, of the threads that hit them, without what that cost: their calls
	 * in each are about in proportion. */
	uint64_t worked_on, worked_off;
};

struct trigger_stats {
	const char *names[KD_ROLES]; /* as given; NULL: there is no such trigger */
	bool target_only[KD_ROLES];  /* else it fires for any process */
	uint64_t cost[KD_ROLES];     /* of a hit, estimated, ns */
	uint64_t delta;              /* ns */
	uint64_t lasted;             /* the run, ns */
	uint64_t from, to;           /* CLOCK_MONOTONIC ns: hits counted; 0: not known */
	struct probe_payer payer;
	struct probe_duty duty;
	bool same_thread;
	uint64_t skipped; /* hits whose program the kernel did not run */
	uint64_t dropped; /* hits of k: and kr: that the kernel did not make, if it says so */
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

/* How much of the calls was seen, estimated, in permille; 1000: all. */
unsigned int trigger_stats_seen(const struct trigger_stats *stats);

/* All hits of a role's probes that its program looked at, and that cost something: also those
 * whose condition was not true. */
uint64_t tally_looked_at(const struct kd_tally *tally, enum kd_role role);

/* Releases what the statistics own. */
void trigger_stats_clear(struct trigger_stats *stats);

#endif
