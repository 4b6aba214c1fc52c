/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions of durations, as buckets of any resolution. */
#ifndef DISTRIBUTION_H
#define DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

struct bucket {
	uint64_t le;    /* ns: longest duration in this bucket */
	uint64_t count; /* never 0 */
};

/* Owns its buckets, in ascending order. Zeroed: no durations. */
struct distribution {
	struct bucket *buckets;
	size_t n;
};

/* Upper limit of a bucket of a log-linear histogram. Values below 1 << bits have a bucket each;
 * larger ones have 1 << bits buckets per power of two. */
uint64_t distribution_limit(unsigned int bucket, unsigned int bits);

/* Appends a bucket above all others; does nothing for count 0. Returns 0, -ENOMEM, or -EINVAL if
 * it is not above them. */
int distribution_append(struct distribution *distribution, uint64_t le, uint64_t count);

/* Adds all durations of from to into. Sums saturate. Returns 0 or -ENOMEM. */
int distribution_merge(struct distribution *into, const struct distribution *from);

/* Number of durations; saturates. */
uint64_t distribution_count(const struct distribution *distribution);

/* Adds one duration to its bucket of a log-linear histogram with this many buckets. Returns 0 or
 * -ENOMEM. */
int distribution_add(struct distribution *distribution, unsigned int bits, unsigned int buckets,
		     uint64_t ns);

/* Durations that ended, and those still open. */
struct durations {
	const struct distribution *ended;
	uint64_t open, open_max; /* how many are open, and the longest so far */
	uint64_t min, max;       /* of ended and open ones */
};

uint64_t durations_count(const struct durations *durations);

/* Quantile in 1/1000 (at most 1000): the limit of its bucket, clamped to min and max; 0 without
 * durations. */
uint64_t durations_permille(const struct durations *durations, unsigned int permille);

/* Quantile with no open durations. */
uint64_t distribution_permille(const struct distribution *distribution, unsigned int permille,
			       uint64_t min, uint64_t max);

void distribution_clear(struct distribution *distribution);

/* Quantiles of the reports. */
#define DISTRIBUTION_SHARES 4
struct distribution_share {
	unsigned int permille;
	const char *label; /* "P99.9" */
	const char *key;   /* "p99_9_ns" */
};
extern const struct distribution_share distribution_shares[DISTRIBUTION_SHARES];

#endif
