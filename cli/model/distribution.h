/* SPDX-License-Identifier: Apache-2.0 */
/* How durations are distributed: as buckets, whatever resolution the kernel side's
 * histogram had. */
#ifndef DISTRIBUTION_H
#define DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

struct bucket {
	uint64_t le;    /* ns: the longest duration that is counted here */
	uint64_t count; /* not 0 */
};

/* Zeroed: no durations. Owns the buckets, which ascend. */
struct distribution {
	struct bucket *buckets;
	size_t n;
};

/* The longest duration that is counted in a bucket of a log-linear histogram: values
 * below 1 << bits have a bucket each, larger ones that many buckets per power of two. */
uint64_t distribution_limit(unsigned int bucket, unsigned int bits);

/* Adds a bucket above all others; count 0: nothing. Returns 0, -ENOMEM, or -EINVAL if
 * it is not above the others. */
int distribution_append(struct distribution *distribution, uint64_t le, uint64_t count);

/* Adds all of from's durations to into. Sums stop at the largest number. Returns 0 or
 * -ENOMEM. */
int distribution_merge(struct distribution *into, const struct distribution *from);

/* How many durations there are, up to the largest number. */
uint64_t distribution_count(const struct distribution *distribution);

/* Adds one duration, in the bucket of a log-linear histogram of that many buckets. Returns
 * 0 or -ENOMEM. */
int distribution_add(struct distribution *distribution, unsigned int bits, unsigned int buckets,
		     uint64_t ns);

/* Durations that are distributed, and others that are not yet over. */
struct durations {
	const struct distribution *ended;
	uint64_t open, open_max; /* how many go on; the longest of them, so far */
	uint64_t min, max;       /* of all */
};

uint64_t durations_count(const struct durations *durations);

/* The duration that a share of all (in 1/1000, at most 1000) does not exceed: the limit
 * of its bucket, or min or max if that lies beyond these; 0 if there is no duration. */
uint64_t durations_permille(const struct durations *durations, unsigned int permille);

/* The same if none goes on. */
uint64_t distribution_permille(const struct distribution *distribution, unsigned int permille,
			       uint64_t min, uint64_t max);

/* Releases the buckets: none are left. */
void distribution_clear(struct distribution *distribution);

/* The shares that reports give. */
#define DISTRIBUTION_SHARES 4
struct distribution_share {
	unsigned int permille;
	const char *label; /* "P99.9" */
	const char *key;   /* "p99_9_ns" */
};
extern const struct distribution_share distribution_shares[DISTRIBUTION_SHARES];

#endif
