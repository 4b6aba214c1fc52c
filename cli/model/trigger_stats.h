/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers of a run: how long its windows must be, which of them are kept, and statistics for the
 * reports. */
#ifndef TRIGGER_STATS_H
#define TRIGGER_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "distribution.h"
#include "sample.h"

/* A start and stop at least the delta apart that could not be recorded, because another window
 * was open at the start. */
struct nested_pair {
	pid_t tid;
	char name[KD_COMM_LEN]; /* thread name, not escaped */
	uint64_t start, end;    /* CLOCK_MONOTONIC ns */
};

/* The thread that lost most time to the probes. */
struct probe_payer {
	pid_t tid;              /* 0: none */
	char name[KD_COMM_LEN]; /* not escaped */
	uint64_t cost;          /* estimated cost of its hits, ns */
	uint64_t cpu;           /* its CPU time meanwhile, ns */
};

/* Times with the probes off, see capture/overhead.h. */
struct probe_duty {
	uint64_t off;
	uint64_t phases;  /* how often they were taken out */
	uint64_t dropped; /* windows open at that time */
	/* CPU time, ns, of threads that hit the probes, with them on and off, without probe
	 * costs. Their calls are roughly proportional to it. */
	uint64_t worked_on, worked_off;
};

struct trigger_stats {
	const char *names[KD_ROLES]; /* as given; NULL: no such trigger */
	bool target_only[KD_ROLES];  /* else any process fires it */
	uint64_t cost[KD_ROLES];     /* per hit, estimated, ns */
	uint64_t delta;              /* ns */
	uint64_t lasted;             /* length of the run, ns */
	uint64_t from, to;           /* range in which hits counted, CLOCK_MONOTONIC ns; 0:
				      * unknown */
	struct probe_payer payer;
	struct probe_duty duty;
	bool same_thread;
	uint64_t skipped; /* hits whose program the kernel skipped */
	uint64_t dropped; /* k: and kr: hits that the kernel missed, if it says so */
	struct kd_tally tally;
	struct distribution windows; /* the tally's durations */
	struct nested_pair *nested;  /* as many as fit, by start */
	size_t n_nested;
};

/* Rebuilds windows from the tally. Returns 0 or -ENOMEM. */
int trigger_stats_distribute(struct trigger_stats *stats);

/* Sorts the pairs, and counts starts still without their stop as unmatched. */
void trigger_stats_finish(struct trigger_stats *stats);

/* Estimated share of calls that the probes saw, in permille; 1000: all. */
unsigned int trigger_stats_coverage(const struct trigger_stats *stats);

/* Hits of a role's probes that its program examined, and that therefore cost time, including
 * those with a false condition. */
uint64_t tally_looked_at(const struct kd_tally *tally, enum kd_role role);

void trigger_stats_clear(struct trigger_stats *stats);

/* --- Deltas --- */

/* Shortest window to keep, by name of the thread that ends it (--trigger-delta). */
#define DELTA_NAMES 64 /* bytes of a pattern, with its NUL */

struct deltas {
	uint64_t others; /* ns; for threads that match no pattern */
	bool has_others; /* others was given */
	size_t n;
	struct {
		char names[DELTA_NAMES]; /* a pattern (names.h); the first match counts */
		uint64_t ns;
	} named[KD_NAMED_DELTAS];
};

/* Error in a text, and its position. */
struct deltas_error {
	size_t at;       /* byte offset; the length of the text: at its end */
	const char *why; /* a string constant */
};

/* Reads "1ms,pmd*:50us,revalidator*:20ms". Durations without a unit are ns; max is the longest.
 * Returns 0, or -EINVAL with *error filled. */
int deltas_parse(struct deltas *deltas, const char *text, uint64_t max, struct deltas_error *error);

/* Delta of a thread's name. */
uint64_t deltas_of(const struct deltas *deltas, const char *name);

/* Smallest delta. */
uint64_t deltas_least(const struct deltas *deltas);

/* --- The longest of many samples (--trigger-worst) --- */

struct worst {
	struct sample *samples; /* longest first */
	size_t n, capacity;
};

/* Allocates space for this many. Returns 0 or -ENOMEM. */
int worst_init(struct worst *worst, size_t capacity);

/* Takes over the sample if it is among the longest; else leaves it unchanged. */
void worst_offer(struct worst *worst, struct sample *sample);

void worst_clear(struct worst *worst);

#endif
