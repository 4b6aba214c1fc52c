/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict_chains.h"

#include <string.h>

#include "cli/base/arith.h"
#include "thread_row.h"
#include "verdict_sleep.h"
#include "wchan.h"

/* What is known of the last sleeps stands for the others, if it is this much of their time, and
 * none of them was much longer. */
#define KNOWN_LEAST 20 /* percent */
#define LONGER 4       /* times */

static bool is_of(const struct chain_row *chain, const struct chain_of *of)
{
	const struct wchan *wchan;

	if (!chain->tid || (of->via && chain->via != of->via))
		return false;
	if (of->wchan)
		return chain->call == of->call &&
		       !strncmp(chain->wchan, of->wchan, KD_FUNCTION_LEN);
	wchan = wchan_of(chain->wchan);
	return wchan && wchan->cause == WCHAN_FUTEX;
}

/* The sleep of that thread; NULL: it has no row. */
static const struct descriptor_row *sleep_at(const struct thread_row *thread,
					     const struct chain_row *chain)
{
	const struct descriptor_row *most = NULL;

	for (size_t i = 0; *chain->in_wchan && i < thread->n_descriptors; i++) {
		const struct descriptor_row *sleep = &thread->descriptors[i];

		if (sleep->call == chain->in_call &&
		    !strncmp(sleep->wchan, chain->in_wchan, sizeof(sleep->wchan)) &&
		    (!most || sleep->waits.total > most->waits.total))
			most = sleep;
	}
	return most;
}

/* A thread that was not kept from running: it is the culprit, by what it did. Of a lock that is its
 * holder, whoever it waited for in turn. */
static void end_claim(struct claimant *claimant, const struct chain_of *of,
		      const struct chain_row *chain, const struct claim *like)
{
	const struct thread_row *thread = sample_thread(claimant->sample, chain->tid);
	struct claim claim = *like;

	if (of->cause != CAUSE_LOCK) {
		claim.who = (struct verdict_who){ .tid = chain->tid };
		claim.who.pid = thread ? thread_pid(claimant->sample, thread) : 0;
		memcpy(claim.who.comm, chain->name, sizeof(chain->name));
		if (chain->via == chain->tid)
			claim.via = NULL;
	} else {
		claim.who = of->claim.who;
		claim.via = NULL;
	}
	if (chain->state == CHAIN_RAN)
		claim.wait.did = WAIT_RAN;
	else if (chain->state == CHAIN_ASLEEP && *chain->in_wchan)
		claim.wait.did = WAIT_SLEPT;
	claim.wait.did_in = chain->in_wchan;
	claim.wait.did_ns = claim.wait.did ? claim.ns : 0;
	claim_give(claimant, of->cause, &claim);
}

/* What is seen in a part of the sleeps stands for all of them: of 0.4 % it is 1 %. */
static unsigned int percent_of(uint64_t seen, uint64_t all)
{
	return seen < all ? (unsigned int)(u64_times(seen, 100) / all) ?: 1 : 100;
}

static void leg_claims(struct claimant *claimant, const struct chain_of *of,
		       const struct chain_row *chain, uint64_t ns)
{
	const struct thread_row *thread = sample_thread(claimant->sample, chain->tid);
	const struct descriptor_row *sleep = NULL;
	struct claim claim = of->claim;
	enum cause cause;

	claim.ns = ns;
	claim.count = chain->legs.count;
	claim.longest = u64_min(chain->legs.max, ns);
	claim.began = claim.so_far = 0;
	claim.via = chain;
	claim.seen = percent_of(chain->legs.total, ns);
	if (thread && chain->state == CHAIN_READY) {
		ns = ready_claims_like(claimant, thread, &claim);
		claim.ns = ns;
	} else if (thread && chain->state == CHAIN_ASLEEP) {
		sleep = sleep_at(thread, chain);
	}
	if (sleep) {
		cause = sleep_loss(&claim, claimant->sample, thread, sleep);
		if (cause != CAUSES) {
			claim_give(claimant, cause, &claim);
			return;
		}
	}
	claim.wait = of->claim.wait;
	claim.at = of->claim.at;
	claim.requests = of->claim.requests;
	claim.queued = of->claim.queued;
	end_claim(claimant, of, chain, &claim);
}

uint64_t chain_claims(struct claimant *claimant, const struct thread_row *thread,
		      const struct chain_of *of)
{
	uint64_t known = 0, longest = 0, left = of->claim.ns, all;

	for (size_t i = 0; i < thread->n_chains; i++) {
		if (!is_of(&thread->chains[i], of))
			continue;
		known = u64_add(known, thread->chains[i].legs.total);
		longest = u64_max(longest, thread->chains[i].legs.max);
	}
	all = u64_times(known, 100) >= u64_times(left, KNOWN_LEAST) &&
			      u64_times(longest, LONGER) >= u64_min(of->claim.longest, left)
		      ? left
		      : known;
	for (size_t i = 0; i < thread->n_chains && known; i++) {
		const struct chain_row *chain = &thread->chains[i];
		uint64_t ns;

		if (!is_of(chain, of))
			continue;
		ns = u64_min(u64_share(all, chain->legs.total, known), left);
		left -= ns;
		leg_claims(claimant, of, chain, ns);
	}
	return left;
}
