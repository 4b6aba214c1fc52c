// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "trigger_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int trigger_stats_distribute(struct trigger_stats *stats)
{
	int error = 0;

	distribution_clear(&stats->windows);
	for (unsigned int i = 0; i < KD_WINDOW_BUCKETS && !error; i++)
		error = distribution_append(&stats->windows, distribution_limit(i, KD_WINDOW_BITS),
					    stats->tally.durations[i]);
	return error;
}

int trigger_stats_add_nested(struct trigger_stats *stats, const struct nested_pair *pair)
{
	if (!(stats->n_nested & (stats->n_nested - 1))) { /* full: double it */
		size_t capacity = stats->n_nested ? 2 * stats->n_nested : 1;
		void *nested = reallocarray(stats->nested, capacity, sizeof(*pair));

		if (!nested)
			return -ENOMEM;
		stats->nested = nested;
	}
	stats->nested[stats->n_nested++] = *pair;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct nested_pair *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

void trigger_stats_finish(struct trigger_stats *stats)
{
	if (stats->n_nested)
		qsort(stats->nested, stats->n_nested, sizeof(*stats->nested), by_start);
}

unsigned int trigger_stats_seen(const struct trigger_stats *stats)
{
	const struct probe_duty *duty = &stats->duty;
	/* For other processes, only the time is known. */
	double seen = (double)duty->worked_on, all = seen + (double)duty->worked_off;

	if (!duty->off || duty->off >= stats->lasted)
		return duty->off ? 0 : 1000;
	if (all == 0) {
		seen = (double)(stats->lasted - duty->off);
		all = (double)stats->lasted;
	}
	return (unsigned int)(seen * 1000 / all);
}

uint64_t tally_looked_at(const struct kd_tally *tally, enum kd_role role)
{
	return tally->hits[role] + tally->unmet[role] + tally->unread[role];
}

void trigger_stats_clear(struct trigger_stats *stats)
{
	free(stats->nested);
	distribution_clear(&stats->windows);
	memset(stats, 0, sizeof(*stats));
}
