// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "distribution.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"

const struct distribution_share distribution_shares[DISTRIBUTION_SHARES] = {
	{ 500, "P50", "p50_ns" },
	{ 900, "P90", "p90_ns" },
	{ 990, "P99", "p99_ns" },
	{ 999, "P99.9", "p99_9_ns" },
};

uint64_t distribution_limit(unsigned int bucket, unsigned int bits)
{
	unsigned int sub = 1U << bits, shift;

	if (bucket < 2 * sub)
		return bucket;
	shift = bucket / sub - 1;
	return ((uint64_t)(bucket % sub + sub + 1) << shift) - 1;
}

/* Adds to the last bucket, or appends one. */
static int bucket_add(struct distribution *distribution, const struct bucket *bucket)
{
	size_t n = distribution->n;

	if (n && bucket->le == distribution->buckets[n - 1].le) {
		uint64_t *count = &distribution->buckets[n - 1].count;

		*count = u64_add(*count, bucket->count);
		return 0;
	}
	if (!(n & (n - 1))) { /* full: double it */
		size_t capacity = n ? 2 * n : 1;
		void *more = reallocarray(distribution->buckets, capacity, sizeof(*bucket));

		if (!more)
			return -ENOMEM;
		distribution->buckets = more;
	}
	distribution->buckets[distribution->n++] = *bucket;
	return 0;
}

int distribution_append(struct distribution *distribution, uint64_t le, uint64_t count)
{
	size_t n = distribution->n;

	if (!count)
		return 0;
	if (n && le <= distribution->buckets[n - 1].le)
		return -EINVAL;
	return bucket_add(distribution, &(struct bucket){ le, count });
}

int distribution_merge(struct distribution *into, const struct distribution *from)
{
	struct distribution sum = { 0 };
	size_t i = 0, j = 0;

	if (!from->n)
		return 0;
	while (i < into->n || j < from->n) {
		bool is_own = j == from->n ||
			      (i < into->n && into->buckets[i].le <= from->buckets[j].le);

		if (bucket_add(&sum, is_own ? &into->buckets[i++] : &from->buckets[j++])) {
			distribution_clear(&sum);
			return -ENOMEM;
		}
	}
	distribution_clear(into);
	*into = sum;
	return 0;
}

uint64_t distribution_count(const struct distribution *distribution)
{
	uint64_t count = 0;

	for (size_t i = 0; i < distribution->n; i++)
		count = u64_add(count, distribution->buckets[i].count);
	return count;
}

int distribution_add(struct distribution *distribution, unsigned int bits, unsigned int buckets,
		     uint64_t ns)
{
	struct distribution one = { 0 };
	unsigned int shift = ns >> bits ? 63U - (unsigned int)__builtin_clzll(ns) - bits : 0;
	unsigned int bucket = (unsigned int)((shift << bits) + (ns >> shift));
	uint64_t le = bucket + 1 < buckets ? distribution_limit(bucket, bits) : UINT64_MAX;
	int error;

	for (size_t i = distribution->n; i && distribution->buckets[i - 1].le >= le; i--) {
		if (distribution->buckets[i - 1].le != le)
			continue;
		distribution->buckets[i - 1].count = u64_add(distribution->buckets[i - 1].count, 1);
		return 0;
	}
	error = distribution_append(&one, le, 1);
	if (!error)
		error = distribution_merge(distribution, &one);
	distribution_clear(&one);
	return error;
}

uint64_t durations_count(const struct durations *durations)
{
	return u64_add(distribution_count(durations->ended), durations->open);
}

uint64_t durations_permille(const struct durations *durations, unsigned int permille)
{
	const struct distribution *ended = durations->ended;
	uint64_t count = durations_count(durations), below = 0, wanted, open = durations->open;
	uint64_t ns = durations->open_max;

	if (!count)
		return 0;
	/* Round up without overflow. */
	wanted = count / 1000 * permille + (count % 1000 * permille + 999) / 1000;
	for (size_t i = 0; i < ended->n; i++) {
		if (open && durations->open_max <= ended->buckets[i].le) {
			ns = durations->open_max;
			below = u64_add(below, open);
			open = 0;
			if (below >= wanted)
				break;
		}
		ns = ended->buckets[i].le;
		below = u64_add(below, ended->buckets[i].count);
		if (below >= wanted)
			break;
	}
	if (below < wanted && open)
		ns = durations->open_max;
	return ns > durations->max ? durations->max : ns < durations->min ? durations->min : ns;
}

uint64_t distribution_permille(const struct distribution *distribution, unsigned int permille,
			       uint64_t min, uint64_t max)
{
	const struct durations durations = { .ended = distribution, .min = min, .max = max };

	return durations_permille(&durations, permille);
}

void distribution_clear(struct distribution *distribution)
{
	free(distribution->buckets);
	memset(distribution, 0, sizeof(*distribution));
}
