/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two captures: finds what differs beyond the spread of their samples. */
#ifndef COMPARISON_H
#define COMPARISON_H

#include <stddef.h>
#include <stdint.h>

#include "measure.h"
#include "verdict.h"

/* --- A capture as series of samples. Threads go by name, since PIDs and TIDs differ from run to
 * run; causes go by cause and culprit. --- */

/* Memory bounds: later samples and names are only counted. */
#define SERIES_SAMPLES 400
#define SERIES_SUBJECTS 256

#define SERIES_NAME CULPRIT_GROUP_LEN

struct series_subject {
	bool is_cause;
	enum cause cause;       /* and the culprit, as in verdict_who */
	char name[SERIES_NAME]; /* of the threads or the culprit; not escaped */
	/* One row per sample: every measure, or one value for a cause. Sums are per second. */
	double *values;
	size_t rows, capacity; /* rows: samples stored; later ones are zeros */
};

struct series {
	struct measures measures;
	size_t samples;
	size_t unusable; /* samples that were not added: see series_add() */
	/* Intended length of a sample, ns: the shortest that the target did not end, because a busy
	 * machine ends samples late. 0: each sample lasted as long as the target. */
	uint64_t sample_time;
	/* Data that only some captures have: in how many samples it is, and the lower bound, ns. */
	size_t with_resources, with_interruptions;
	uint64_t interruptions_from;
	uint64_t left_out;
	struct series_subject *subjects;
	size_t n, capacity;
	double *row;
};

/* Returns NULL without memory. */
struct series *series_new(void);

/* Adds a finished sample. Skips windows of triggers and samples that were cut short. Returns 0
 * or -ENOMEM. */
int series_add(struct series *series, const struct sample *sample);

/* True if both captures have a figure under this key, measured the same way. */
bool series_is_held(const struct series *series, const struct series *other, const char *key);

/* NULL is allowed. */
void series_free(struct series *series);

/* --- What differs between two captures --- */

/* Probability that chance alone finds any difference. The rank test's limit is this divided by
 * the number of measures. Too few samples cannot reach that limit. A difference then counts if
 * no samples overlap and the means are this many deviations apart. That is about as improbable:
 * with twice 8 samples it is a t of 6. */
#define COMPARISON_CHANCE 0.01
#define COMPARISON_APART 3
#define COMPARISON_SAMPLES 8 /* of each, at least */

/* Samples count as equally long if they differ by no more than this share, or by this many ns.
 * Longer samples have fewer edges and larger maxima. */
#define COMPARISON_TIME 0.25
#define COMPARISON_TIME_NS 10000000

/* Times that are sums must differ by this share of the busy time of all threads, other figures
 * by this share of the larger value. */
#define COMPARISON_LEAST_BUSY 0.01
#define COMPARISON_LEAST 0.1

struct comparison_side {
	double mean, deviation;
};

struct difference {
	const struct series_subject *subject; /* of either capture */
	const struct measure *measure;        /* NULL: a cause, in ns per second */
	struct comparison_side before, now;   /* sums are per second */
	double p;                             /* of the rank test */
};

struct comparison {
	const struct series *before, *now;
	double limit;           /* of p */
	bool few;               /* too few samples to decide */
	size_t tested;          /* measures with a nonzero sample */
	struct difference *all; /* largest first: causes, time kept from running, */
	size_t n, capacity;     /* other times that are sums, other times, counts */
};

/* True if samples of both captures are equally long. */
bool comparison_is_fair(const struct series *before, const struct series *now);

/* Fills a zeroed comparison, which points into both captures. Returns 0 or -ENOMEM; the caller
 * clears it in either case. */
int comparison_find(struct comparison *comparison, const struct series *before,
		    const struct series *now);

void comparison_clear(struct comparison *comparison);

/* --- Rank test of Mann and Whitney: do two sets of values differ by more than chance? --- */

/* Up to this many values in all, every split is counted, with middle ranks for ties. Beyond, a
 * normal approximation is used, corrected for ties and by 0.5 for continuity. */
#define RANK_TEST_EXACT 20

/* Probability that a random split differs at least as much, in either direction; 1 if a set is
 * empty. Returns -1 without memory. */
double rank_test(const double *a, size_t n, const double *b, size_t m);

#endif
