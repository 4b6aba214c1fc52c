// SPDX-License-Identifier: Apache-2.0
#include "interruption.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/kernel_delay.h"
#include "cli/base/arith.h"

/* Length of a piece without the earlier pieces nested in it. */
static uint64_t own_ns(const struct gap *gap, const struct kd_interruption *piece)
{
	uint64_t ns = piece->until - piece->since;
	unsigned int n = gap->n < GAP_PIECES ? gap->n : GAP_PIECES;

	for (unsigned int i = 0; i < n; i++)
		if (gap->pieces[i].since >= piece->since)
			ns -= u64_min(ns, gap->pieces[i].own);
	return ns;
}

static void piece_count(struct gap *gap, const struct kd_interruption *piece, uint64_t own,
			uint64_t entry_ns)
{
	uint64_t throttled = u64_min(piece->taken, own);

	switch (piece->by) {
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

bool gap_add(struct gap *gap, const struct kd_interruption *piece, uint64_t entry_ns)
{
	/* A softirq or a switch may follow, and a switch after the softirq. */
	bool leaving = gap->hardirqs && piece->by != KD_BY_HARDIRQ &&
		       (gap->last.by == KD_BY_HARDIRQ || piece->by == KD_BY_TASK);
	const uint64_t join_ns = interruption_join_ns(leaving, entry_ns);
	uint64_t own;

	if (piece->until < piece->since)
		return true; /* the clock may step back a little: nothing to record */
	if (gap->until && (piece->since > gap->until + join_ns || piece->tid != gap->last.tid))
		return false;
	if (!gap->until)
		*gap = (struct gap){ .since = piece->since, .ended = gap->ended };
	own = own_ns(gap, piece);
	gap->moved |= piece->from != piece->cpu;
	gap->since = u64_min(gap->since, piece->since);
	gap->until = u64_max(gap->until, piece->until);
	gap->last = *piece;
	gap->pieces[gap->n++ % GAP_PIECES] = (struct gap_piece){ piece->since, own };
	if (piece->by < KD_INTERRUPTED_BY && own >= gap->largest_ns[piece->by]) {
		gap->largest[piece->by] = *piece;
		gap->largest_ns[piece->by] = own;
	}
	/* Only the end of a fault tells whether a page was read, and that may be a short piece. */
	if (piece->by == KD_BY_FAULT && piece->who)
		gap->largest[KD_BY_FAULT].who = piece->who;
	piece_count(gap, piece, own, entry_ns);
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

void interruption_stolen(const struct kd_interruption *piece, struct interruption *interruption)
{
	*interruption = (struct interruption){
		.since = piece->since,
		.until = piece->until,
		.ns = piece->taken,
		.by = { [INTERRUPTION_STOLEN] = piece->taken },
		.tid = (pid_t)piece->tid,
		.cpu = piece->cpu,
		.cause = INTERRUPTION_STOLEN,
	};
}

static int sum_add(struct interruption_sum *sum, uint64_t since, uint64_t ns)
{
	if (!ns)
		return 0;
	sum->count.count++;
	sum->count.total = u64_add(sum->count.total, ns);
	if (ns > sum->count.max)
		sum->count.began = since;
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
	error = sum_add(&sums[INTERRUPTION_CAUSES], interruption->since, interruption->ns);
	for (int i = 0; i < INTERRUPTION_CAUSES && !error; i++)
		error = sum_add(&sums[i], interruption->since, interruption->by[i]);
	return error;
}

/* --- When ticks are due --- */

#define JITTER_NS 50000 /* still the same offset, in either direction */
#define MEAN_OF 8       /* running mean over about this many */
#define REGULAR 10      /* interrupts that make an offset the tick's, */
#define RATHER 2        /* if it has this many times more than any other */
#define MEMORY 200      /* then all counts are halved */
#define EARLY_DIVISOR 4 /* of the period: a tick may come this much early */

/* Signed distance between two offsets: -period / 2 to period / 2. */
static int64_t later(uint64_t offset, uint64_t than, uint64_t period)
{
	uint64_t ns = (offset + period - than) % period;

	return ns > period / 2 ? (int64_t)ns - (int64_t)period : (int64_t)ns;
}

static void phase_note(struct tick_phase *phase, uint64_t period, int64_t by)
{
	phase->offset = (phase->offset + period + (uint64_t)(by / MEAN_OF)) % period;
	phase->count++;
}

static void offset_note(struct tick *tick, uint64_t period, uint64_t offset)
{
	struct tick_phase *least = &tick->phases[0];

	if (tick->count++ == MEMORY) {
		tick->count = 0;
		for (size_t i = 0; i < TICK_PHASES; i++)
			tick->phases[i].count /= 2;
	}
	for (size_t i = 0; i < TICK_PHASES; i++) {
		struct tick_phase *phase = &tick->phases[i];
		int64_t by = later(offset, phase->offset, period);

		if (phase->count && by >= -JITTER_NS && by <= JITTER_NS) {
			phase_note(phase, period, by);
			return;
		}
		if (phase->count < least->count)
			least = phase;
	}
	*least = (struct tick_phase){ .offset = offset, .count = 1 };
}

/* NULL: none stands out. */
static const struct tick_phase *phase_of(const struct tick *tick)
{
	const struct tick_phase *most = &tick->phases[0];
	uint32_t next = 0;

	for (size_t i = 1; i < TICK_PHASES; i++)
		if (tick->phases[i].count > most->count)
			most = &tick->phases[i];
	for (size_t i = 0; i < TICK_PHASES; i++)
		if (&tick->phases[i] != most && tick->phases[i].count > next)
			next = tick->phases[i].count;
	return most->count >= REGULAR && most->count >= RATHER * next ? most : NULL;
}

uint64_t tick_note(struct tick *tick, uint64_t period, uint64_t before, uint64_t t)
{
	const struct tick_phase *phase;
	uint64_t due = 0;

	if (period <= 4 * JITTER_NS)
		return 0;
	phase = phase_of(tick);
	if (phase && before < t) {
		/* A tick that was due soon after may have come before, or together with it. */
		due = before + period / EARLY_DIVISOR;
		due += (phase->offset + period - due % period) % period;
	}
	offset_note(tick, period, t % period);
	return due && t > due + TICK_LATE_NS ? t - due : 0;
}
