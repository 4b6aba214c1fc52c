// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "distribution.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct distribution_share distribution_shares[DISTRIBUTION_SHARES] = {
	{ 500, "P50", "p50_ns" },
	{ 900, "P90", "p90_ns" },
	{ 990, "P99", "p99_ns" },
	{ 999, "P99.9", "p99_9_ns" },
};

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t distribution_limit(unsigned int place, unsigned int bits)
{
	unsigned int sub = 1U << bits, shift;

	if (place < 2 * sub)
		return place;
	shift = place / sub - 1;
	return ((uint64_t)(place % sub + sub + 1) << shift) - 1;
}

int distribution_append(struct distribution *distribution, uint64_t le, uint64_t count)
{
	size_t n = distribution->n;

	if (!count)
		return 0;
	if (n && le <= distribution->buckets[n - 1].le)
		return -EINVAL;
	if (!(n & (n - 1))) { /* full: double it */
		size_t room = n ? 2 * n : 1;
		void *more = reallocarray(distribution->buckets, room, sizeof(struct bucket));

		if (!more)
			return -ENOMEM;
		distribution->buckets = more;
	}
	distribution->buckets[distribution->n++] = (struct bucket){ le, count };
	return 0;
}

/* The next bucket of two lists, with the counts of both if they have it. */
static struct bucket next_of_both(const struct distribution *a, size_t *at_a,
				  const struct distribution *b, size_t *at_b)
{
	const struct bucket *of_a = *at_a < a->n ? &a->buckets[*at_a] : NULL;
	const struct bucket *of_b = *at_b < b->n ? &b->buckets[*at_b] : NULL;
	struct bucket next = { 0 };

	next.le = !of_b || (of_a && of_a->le < of_b->le) ? of_a->le : of_b->le;
	if (of_a && of_a->le == next.le) {
		next.count = of_a->count;
		++*at_a;
	}
	if (of_b && of_b->le == next.le) {
		next.count = add(next.count, of_b->count);
		++*at_b;
	}
	return next;
}

int distribution_merge(struct distribution *into, const struct distribution *from)
{
	struct distribution sum = { 0 };
	size_t at_into = 0, at_from = 0;

	if (!from->n)
		return 0;
	while (at_into < into->n || at_from < from->n) {
		struct bucket next = next_of_both(into, &at_into, from, &at_from);

		if (distribution_append(&sum, next.le, next.count)) {
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
		count = add(count, distribution->buckets[i].count);
	return count;
}

uint64_t distribution_permille(const struct distribution *distribution, unsigned int permille,
			       uint64_t min, uint64_t max)
{
	uint64_t count = distribution_count(distribution), seen = 0, wanted, ns;
	size_t i = 0;

	if (!count)
		return 0;
	/* Rounded up, without overflow. */
	wanted = count / 1000 * permille + (count % 1000 * permille + 999) / 1000;
	do {
		seen = add(seen, distribution->buckets[i].count);
	} while (seen < wanted && ++i < distribution->n);
	ns = distribution->buckets[i < distribution->n ? i : distribution->n - 1].le;
	return ns > max ? max : ns < min ? min : ns;
}

void distribution_clear(struct distribution *distribution)
{
	free(distribution->buckets);
	memset(distribution, 0, sizeof(*distribution));
}
