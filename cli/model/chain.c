/* SPDX-License-Identifier: Apache-2.0 */
#include "chain.h"

#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "rows.h"

/* Sleeps within sleeps: a chain of more threads ends there. */
#define DEPTH 16

/* A sleep that is followed. */
struct follow {
	const struct chains *chains;
	struct thread_row *row;
	const struct chain_sleep *sleep;
	int error;
};

static void leg_add(struct follow *follow, const struct chain_thread *thread,
		    enum chain_state state, const struct chain_sleep *in, uint64_t ns)
{
	const struct chain_thread *waker = &follow->chains->threads[follow->sleep->waker];
	struct chain_row leg = {
		.call = follow->sleep->call,
		.via = waker->tid,
		.tid = thread->tid,
		.state = state,
		.in_call = in ? in->call : KD_CALL_NONE,
		.legs = { 1, ns, ns, 0 },
	};

	if (!ns || follow->error)
		return;
	memcpy(leg.wchan, follow->sleep->wchan, sizeof(leg.wchan));
	memcpy(leg.via_name, waker->name, sizeof(leg.via_name));
	memcpy(leg.name, thread->name, sizeof(leg.name));
	if (in)
		memcpy(leg.in_wchan, in->wchan, sizeof(leg.in_wchan));
	follow->error = row_list_add(&chain_list, &follow->row->chains, &follow->row->n_chains,
				     &leg);
}

/* The thread did not sleep long for ns, the last part of a time of which both ends are known. */
static void awake_add(struct follow *follow, const struct chain_thread *thread, uint64_t ns,
		      uint64_t whole, const struct kd_times *before, const struct kd_times *after)
{
	uint64_t ran = u64_share(u64_sub(after->running, before->running), ns, whole), ready;

	ran = u64_min(ran, ns);
	ready = u64_share(u64_sub(after->ready, before->ready), ns, whole);
	ready = u64_min(ready, ns - ran);
	leg_add(follow, thread, CHAIN_RAN, NULL, ran);
	leg_add(follow, thread, CHAIN_READY, NULL, ready);
	/* In short sleeps. */
	leg_add(follow, thread, CHAIN_ASLEEP, NULL, ns - ran - ready);
}

/* What a thread did from start to end, when its times were these. */
static void thread_follow(struct follow *follow, uint32_t number, uint64_t start, uint64_t end,
			  struct kd_times did, unsigned int depth)
{
	static const struct kd_times nothing;
	const struct chain_thread *thread = &follow->chains->threads[number];
	size_t i = ARRAY_SPLIT(thread->n, j, thread->sleeps[j].until <= end);

	while (end > start) {
		const struct chain_sleep *sleep = i ? &thread->sleeps[i - 1] : NULL;
		const uint64_t known = sleep ? sleep->until : thread->from;
		const uint64_t until = u64_max(known, start), from = sleep ? sleep->since : 0;

		if (known > end) { /* nothing is known of it until then */
			leg_add(follow, thread, CHAIN_UNKNOWN, NULL, end - start);
			return;
		}
		awake_add(follow, thread, end - until, end - known, sleep ? &sleep->did : &nothing,
			  &did);
		if (!sleep || until == start)
			return;
		end = u64_max(from, start);
		if (sleep->waker && depth < DEPTH)
			thread_follow(follow, sleep->waker, end, until, sleep->woken, depth + 1);
		else
			leg_add(follow, thread, CHAIN_ASLEEP, sleep, until - end);
		did = sleep->did;
		i--;
	}
}

int chains_add(const struct chains *chains, uint32_t number, struct thread_row *row)
{
	const struct chain_thread *thread = &chains->threads[number];
	struct follow follow = { .chains = chains, .row = row };
	uint64_t known = 0;

	for (size_t i = 0; i < thread->n && !follow.error; i++) {
		const uint64_t start = u64_max(thread->sleeps[i].since, chains->start);
		const uint64_t end = u64_min(thread->sleeps[i].until, chains->end);

		known = u64_add(known, u64_sub(end, start));
		follow.sleep = &thread->sleeps[i];
		/* Of a sleep that went on after the window, the waker's times are of then. */
		if (follow.sleep->waker && end > start)
			thread_follow(&follow, follow.sleep->waker, start, end, follow.sleep->woken,
				      0);
	}
	row->followed = row->n_chains ? known : 0;
	return follow.error;
}
