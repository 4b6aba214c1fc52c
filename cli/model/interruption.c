// SPDX-License-Identifier: Apache-2.0
#include "interruption.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"

#define KEY(cause, key, title) [cause] = (key),
#define TITLE(cause, key, title) [cause] = (title),
const char *const interruption_keys[INTERRUPTION_CAUSES] = { INTERRUPTION_WORDS(KEY) };
const char *const interruption_titles[INTERRUPTION_CAUSES] = { INTERRUPTION_WORDS(TITLE) };

/* Length of a piece without the earlier pieces nested in it. */
static uint64_t own_ns(const struct gap *gap, const struct kd_interruption *part)
{
	uint64_t ns = part->until - part->since;
	unsigned int n = gap->n < GAP_PARTS ? gap->n : GAP_PARTS;

	for (unsigned int i = 0; i < n; i++)
		if (gap->parts[i].since >= part->since)
			ns -= u64_min(ns, gap->parts[i].own);
	return ns;
}

static void part_count(struct gap *gap, const struct kd_interruption *part, uint64_t own,
		       uint64_t entry_ns)
{
	uint64_t throttled = u64_min(part->taken, own);

	switch (part->by) {
	case KD_BY_HARDIRQ:
		gap->by[INTERRUPTION_HARDIRQ] += own;
		gap->hardirqs++;
		gap->entries += entry_ns;
		gap->entry = u64_max(gap->entry, entry_ns);
		break;
	case KD_BY_SOFTIRQ:
		gap->by[INTERRUPTION_SOFTIRQ] += own;
		break;
	case KD_BY_FAULT:
		gap->by[INTERRUPTION_PAGE_FAULT] += own;
		break;
	default:
		gap->by[INTERRUPTION_THROTTLED] += throttled;
		gap->by[INTERRUPTION_PREEMPTED] += own - throttled;
		break;
	}
}

bool gap_add(struct gap *gap, const struct kd_interruption *part, uint64_t entry_ns)
{
	/* A softirq or a switch may follow, and a switch after the softirq. */
	bool leaving = gap->hardirqs && part->by != KD_BY_HARDIRQ &&
		       (gap->last.by == KD_BY_HARDIRQ || part->by == KD_BY_TASK);
	const uint64_t join_ns = interruption_join_ns(leaving, entry_ns);
	uint64_t own;

	if (part->until < part->since)
		return true; /* the clock may step back a little: nothing to record */
	if (gap->until && (part->since > gap->until + join_ns || part->tid != gap->last.tid))
		return false;
	if (!gap->until)
		*gap = (struct gap){ .since = part->since, .ended = gap->ended };
	own = own_ns(gap, part);
	gap->moved |= part->from != part->cpu;
	gap->since = u64_min(gap->since, part->since);
	gap->until = u64_max(gap->until, part->until);
	gap->last = *part;
	gap->parts[gap->n++ % GAP_PARTS] = (struct gap_part){ part->since, own };
	if (part->by < KD_INTERRUPTED_BY && own >= gap->largest_ns[part->by]) {
		gap->largest[part->by] = *part;
		gap->largest_ns[part->by] = own;
	}
	/* Only the end of a fault tells whether a page was read, and that may be a short piece. */
	if (part->by == KD_BY_FAULT && part->who)
		gap->largest[KD_BY_FAULT].who = part->who;
	part_count(gap, part, own, entry_ns);
	return true;
}

void gap_tick_late(struct gap *gap, uint64_t late, uint64_t ns)
{
	uint64_t from = gap->last.since > ns ? gap->last.since - ns : 0;

	gap->tick_late = u64_max(gap->tick_late, late);
	gap->since = u64_min(gap->since, u64_max(from, gap->ended));
}

const struct kd_interruption *gap_largest(const struct gap *gap, enum interruption_cause cause)
{
	switch (cause) {
	case INTERRUPTION_HARDIRQ:
		return &gap->largest[KD_BY_HARDIRQ];
	case INTERRUPTION_SOFTIRQ:
		return &gap->largest[KD_BY_SOFTIRQ];
	case INTERRUPTION_PREEMPTED:
		return &gap->largest[KD_BY_TASK];
	case INTERRUPTION_PAGE_FAULT:
		return &gap->largest[KD_BY_FAULT];
	default:
		return NULL;
	}
}

void gap_end(struct gap *gap, struct interruption *interruption)
{
	uint64_t ns = gap->until - gap->since, explained = 0, estimate, inside, outside;

	for (int i = 0; i < INTERRUPTION_UNEXPLAINED; i++)
		explained += gap->by[i];
	*interruption = (struct interruption){
		.since = gap->since,
		.until = gap->until,
		.tid = (pid_t)gap->last.tid,
		.cpu = gap->last.cpu,
		.moved = gap->moved,
		.tick_late = gap->tick_late,
	};
	memcpy(interruption->by, gap->by, sizeof(gap->by));
	/* The estimate lies partly between the pieces; for one interrupt it lies outside. */
	estimate = gap->entries;
	inside = u64_min(estimate, ns > explained ? ns - explained : 0);
	outside = u64_min(estimate - inside, gap->entry);
	interruption->by[INTERRUPTION_HARDIRQ] += inside + outside;
	interruption->by[INTERRUPTION_UNEXPLAINED] = ns > explained ? ns - explained - inside : 0;
	interruption->entry_ns = inside + outside;
	interruption->ns = 0;
	for (uint32_t i = 0; i < INTERRUPTION_CAUSES; i++) {
		interruption->ns += interruption->by[i];
		if (interruption->by[i] > interruption->by[interruption->cause])
			interruption->cause = i;
	}
	gap->ended = gap->until;
	gap->since = gap->until = 0;
}

void interruption_stolen(const struct kd_interruption *part, struct interruption *interruption)
{
	*interruption = (struct interruption){
		.since = part->since,
		.until = part->until,
		.ns = part->taken,
		.by = { [INTERRUPTION_STOLEN] = part->taken },
		.tid = (pid_t)part->tid,
		.cpu = part->cpu,
		.cause = INTERRUPTION_STOLEN,
	};
}

static int sum_add(struct interruption_sum *sum, uint64_t ns)
{
	if (!ns)
		return 0;
	sum->count.count++;
	sum->count.total = u64_add(sum->count.total, ns);
	sum->count.max = u64_max(sum->count.max, ns);
	return distribution_add(&sum->times, KD_HISTOGRAM_BITS, KD_HISTOGRAM_BUCKETS, ns);
}

int interruption_count(struct interruption_sum **rows, const struct interruption *interruption)
{
	struct interruption_sum *sums = *rows ?: calloc(INTERRUPTION_SUMS, sizeof(*sums));
	int error;

	if (!sums)
		return -ENOMEM;
	*rows = sums;
	error = sum_add(&sums[INTERRUPTION_CAUSES], interruption->ns);
	for (int i = 0; i < INTERRUPTION_CAUSES && !error; i++)
		error = sum_add(&sums[i], interruption->by[i]);
	return error;
}
