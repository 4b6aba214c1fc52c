/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict_claims.h"

#include <string.h>

#include "cli/base/arith.h"
#include "thread_row.h"
#include "verdict_limits.h"

#define CAUSE_ROW(cause, key, title, evidence) [cause] = { key, title, evidence },
const struct cause_words cause_words[CAUSES] = { CAUSE_WORDS(CAUSE_ROW) };

/* --- Claims --- */

static uint64_t open_count(const struct thread_row *thread, enum open_kind kind)
{
	uint64_t count = 0;

	for (size_t i = 0; i < thread->n_open; i++)
		if (thread->open[i].kind == kind)
			count += thread->open[i].count;
	return count;
}

/* Claim for a state with periods of its own; counts at least one. */
static struct claim period_claim(const struct thread_row *thread, enum open_kind kind, uint64_t ns)
{
	const struct complete complete = complete_period(thread, kind);
	uint64_t count = thread_period(thread, kind).count + open_count(thread, kind);
	struct claim claim = {
		.ns = ns,
		.count = u64_max(count, 1),
		.longest = complete.max,
		.began = complete.began,
		.so_far = complete.open,
	};

	/* From edge to edge, nothing began or ended. */
	if (!claim.longest)
		claim.longest = ns / (thread->members ?: 1);
	return claim;
}

/* Cause of a wait for a CPU; CAUSES: unknown. */
static enum cause culprit_cause(const struct culprit *culprit)
{
	static const enum cause causes[CULPRIT_KINDS] = {
		[CULPRIT_TASK] = CAUSE_TASK,           [CULPRIT_HARDIRQ] = CAUSE_HARDIRQ,
		[CULPRIT_SOFTIRQ] = CAUSE_SOFTIRQ,     [CULPRIT_IDLE] = CAUSE_IDLE,
		[CULPRIT_THROTTLED] = CAUSE_THROTTLED, [CULPRIT_DEADLINE] = CAUSE_DEADLINE,
		[CULPRIT_STOLEN] = CAUSE_STOLEN,       [CULPRIT_OWN] = CAUSE_OWN_THREADS,
		[CULPRIT_REST] = CAUSE_TASK,           [CULPRIT_UNKNOWN] = CAUSES,
	};

	if (culprit->rt_limit)
		return CAUSE_RT_LIMIT;
	if (culprit->kind == CULPRIT_TASK && culprit->own)
		return CAUSE_OWN_THREADS;
	if (culprit->kind == CULPRIT_TASK && culprit->ksoftirqd)
		return CAUSE_SOFTIRQ;
	return causes[culprit->kind];
}

static struct verdict_who culprit_who(const struct culprit *culprit)
{
	struct verdict_who who = { .quota_ns = culprit->quota_ns, .period_ns = culprit->period_ns };

	if (culprit->kind == CULPRIT_THROTTLED)
		memcpy(who.comm, culprit->group, sizeof(culprit->group));
	if (culprit->kind != CULPRIT_TASK)
		return who;
	who.tid = culprit->tid ? culprit->tid : culprit->pid;
	who.pid = culprit->pid;
	memcpy(who.comm, culprit->name, sizeof(culprit->name));
	who.scheduled = true;
	who.policy = culprit->policy;
	who.priority = culprit->priority;
	who.same_group = culprit->same_group;
	memcpy(who.group, culprit->group, sizeof(who.group));
	who.parent = culprit->parent;
	memcpy(who.parent_name, culprit->parent_name, sizeof(who.parent_name));
	who.kernel = culprit->kernel;
	return who;
}

/* What CPUs did meanwhile is known of all of a thread's waits for one, and spread over those who
 * had it. */
static void idle_spread(struct claim *claim, enum cause cause, const struct thread_row *thread)
{
	const uint64_t ready = u64_add(thread->ledger.ns[LEDGER_READY_WOKEN],
				       thread->ledger.ns[LEDGER_READY_PREEMPTED]);
	const uint64_t idle[KD_IDLE_KINDS] = {
		[KD_IDLE_ALLOWED] = thread->waited_idle_allowed,
		[KD_IDLE_BARRED] = thread->waited_idle_barred,
		[KD_IDLE_NONE] = thread->waited_idle_none,
	};
	const bool waits = cause == CAUSE_TASK || cause == CAUSE_OWN_THREADS;

	for (int i = 0; i < KD_IDLE_KINDS; i++)
		claim->idle[i] = waits && ready ? (uint64_t)((unsigned __int128)claim->ns *
							     u64_min(idle[i], ready) / ready)
						: 0;
}

/* A culprit's number of cases is unknown, but at most that of the waits. If the longest wait for
 * an idle CPU is too long for a wakeup, it had another reason. */
static void ready_claims(struct claimant *claimant, const struct thread_row *thread)
{
	const uint64_t *ns = thread->ledger.ns;
	uint64_t ready = u64_add(ns[LEDGER_READY_WOKEN], ns[LEDGER_READY_PREEMPTED]);
	struct claim claim = period_claim(thread, OPEN_READY, ready);

	if (!thread->n_culprits) {
		idle_spread(&claim, CAUSE_TASK, thread);
		claim_give(claimant, CAUSE_TASK, &claim);
	}
	for (size_t i = 0; i < thread->n_culprits; i++) {
		const struct culprit *culprit = &thread->culprits[i];
		enum cause cause = culprit_cause(culprit);

		claim.ns = culprit_ns(culprit);
		claim.longest = culprit->longest_ns;
		claim.began = culprit->longest_began;
		claim.who = culprit_who(culprit);
		if (cause == CAUSE_IDLE && claim.longest >= WAKE_UP_NS) {
			claim.ns = u64_sub(claim.ns, claim.longest);
			claim.longest = claim.began = 0;
		}
		idle_spread(&claim, cause, thread);
		if (cause != CAUSES)
			claim_give(claimant, cause, &claim);
	}
}

uint64_t ready_claims_like(struct claimant *claimant, const struct thread_row *thread,
			   const struct claim *like)
{
	uint64_t all = 0, left = like->ns;

	for (size_t i = 0; i < thread->n_culprits; i++)
		all = u64_add(all, culprit_ns(&thread->culprits[i]));
	for (size_t i = 0; i < thread->n_culprits; i++) {
		const struct culprit *culprit = &thread->culprits[i];
		const enum cause cause = culprit_cause(culprit);
		struct claim claim = *like;

		claim.ns = u64_share(like->ns, culprit_ns(culprit), all);
		claim.longest = u64_min(like->longest, claim.ns);
		claim.who = culprit_who(culprit);
		claim.wait = (struct wait_words){ 0 };
		claim.at = NULL;
		if (cause == CAUSES)
			continue;
		left -= claim.ns;
		idle_spread(&claim, cause, thread);
		claim_give(claimant, cause, &claim);
	}
	return left;
}

/* Sleeps that lasted much longer than requested, but not in the freezer. */
static void timer_claims(struct claimant *claimant, const struct thread_row *thread)
{
	const struct kd_count *late = &thread->overslept.late;
	uint64_t frozen = limit_frozen_asleep(claimant->sample, thread);
	struct claim claim = { .ns = u64_min(late->total, ledger_blocked(&thread->ledger)),
			       .count = late->count,
			       .longest = late->max,
			       .began = late->began };

	claim.ns = u64_sub(claim.ns, frozen);
	claim.longest = frozen ? u64_min(claim.longest, claim.ns) : claim.longest;
	claim_give(claimant, CAUSE_TIMER, &claim);
}

static void stopped_claims(struct claimant *claimant, const struct thread_row *thread)
{
	struct claim claim = period_claim(thread, OPEN_STOPPED, thread->ledger.ns[LEDGER_STOPPED]);

	if (!thread->n_stops)
		claim_give(claimant, CAUSE_STOPPED, &claim);
	for (size_t i = 0; i < thread->n_stops; i++) {
		const struct stop_row *stop = &thread->stops[i];

		claim.ns = stop->stops.total;
		claim.count = stop->stops.count;
		/* A period that crosses an edge is longer than its part in the window. */
		if (thread->n_stops > 1) {
			claim.longest = stop->stops.max;
			claim.began = stop->stops.began;
		}
		claim.who = (struct verdict_who){ .tid = stop->tid, .pid = stop->pid };
		memcpy(claim.who.comm, stop->name, sizeof(stop->name));
		if (stop->kind != KD_STOP_UNKNOWN)
			stop_how(stop, claim.who.stopped_by);
		claim_give(claimant, CAUSE_STOPPED, &claim);
	}
}

/* A claim of each action. What the ledger has above their sum is the entries and returns of all of
 * them, by their number. */
static void irq_claims(struct claimant *claimant, enum cause cause, const struct irq_row *rows,
		       size_t n, uint64_t ns)
{
	struct claim rest = { .ns = ns };
	uint64_t total = 0, count = 0, entries;

	for (size_t i = 0; i < n; i++) {
		total = u64_add(total, rows[i].total);
		count = u64_add(count, rows[i].count);
	}
	entries = u64_sub(ns, total);
	for (size_t i = 0; i < n; i++) {
		uint64_t own = u64_add(rows[i].total, u64_share(entries, rows[i].count, count));
		struct claim claim = {
			.ns = i + 1 < n ? u64_min(own, rest.ns) : rest.ns,
			.count = rows[i].count,
			.longest = rows[i].max,
			.began = rows[i].began,
		};

		memcpy(claim.who.comm, rows[i].name, sizeof(rows[i].name));
		rest.ns -= claim.ns;
		claim_give(claimant, cause, &claim);
	}
	claim_give(claimant, cause, &rest);
}

static void interrupt_claims(struct claimant *claimant, const struct thread_row *thread)
{
	irq_claims(claimant, CAUSE_HARDIRQ, thread->hardirqs, thread->n_hardirqs,
		   thread->ledger.ns[LEDGER_HARDIRQ]);
	irq_claims(claimant, CAUSE_SOFTIRQ, thread->softirqs, thread->n_softirqs,
		   thread->ledger.ns[LEDGER_SOFTIRQ]);
}

static void stolen_claims(struct claimant *claimant, const struct thread_row *thread)
{
	uint64_t ns = thread->ledger.ns[LEDGER_STOLEN];
	const struct claim claim = {
		.ns = ns,
		.count = thread->stolen.count,
		.longest = u64_min(thread->stolen.max, ns),
	};

	claim_give(claimant, CAUSE_STOLEN, &claim);
}

/* How often it was frozen is unknown. */
static void frozen_claims(struct claimant *claimant, const struct thread_row *thread)
{
	const struct claim claim = { .ns = u64_add(thread->ledger.ns[LEDGER_FROZEN],
						   limit_frozen_asleep(claimant->sample, thread)),
				     .who = limit_who(claimant->sample->frozen_group) };

	claim_give(claimant, CAUSE_FROZEN, &claim);
}

void claims_find(struct claimant *claimant, const struct thread_row *thread)
{
	/* A finder may claim for several causes that share a ledger state. */
	static void (*const finders[])(struct claimant *, const struct thread_row *) = {
		ready_claims,   interrupt_claims, timer_claims,
		stopped_claims, stolen_claims,    frozen_claims,
	};

	for (size_t i = 0; i < sizeof(finders) / sizeof(*finders); i++)
		finders[i](claimant, thread);
}
