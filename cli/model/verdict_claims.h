/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: how much each cause took from a thread, by its row. Those of sleeps are in
 * verdict_sleeps.h. */
#ifndef VERDICT_CLAIMS_H
#define VERDICT_CLAIMS_H

#include "sample.h"
#include "verdict_row.h"

/* Words of the causes. */
struct cause_words {
	const char *key, *title, *evidence;
};
extern const struct cause_words cause_words[CAUSES];

/* Loss of a thread to one culprit. */
struct claim {
	uint64_t ns;
	uint64_t count;   /* cases; 0: unknown */
	uint64_t longest; /* longest case; 0: unknown */
	uint64_t began;   /* when it did; 0: unknown */
	uint64_t so_far;  /* longest one still open; 0: none known */
	struct verdict_who who;
	const struct descriptor *at; /* descriptor waited at; NULL: none */
	struct wait_words wait;
	const struct chain_row *via; /* the thread that it kept, for which this one waited; NULL:
				      * none */
	unsigned int seen; /* in so many percent of the waits; 0: it follows from no chain */
	const struct lock_row *lock;  /* lock of the kernel that has a name; NULL: none */
	struct kd_count requests;     /* disk requests that ended the waits, */
	uint64_t queued;              /* and how long the driver did not have them */
	uint64_t idle[KD_IDLE_KINDS]; /* parts of waits for a CPU, see struct verdict_row */
};

/* Receives claims one by one. */
struct claimant {
	bool of_subject; /* nothing of the thread is idle, see struct verdict */
	void (*take)(struct claimant *claimant, enum cause cause, const struct claim *claim);
	/* What may be a loss, but to an unknown cause. */
	void (*unclaimed)(struct claimant *claimant, const struct claim *claim);
	const struct sample *sample;
};

/* Passes a claim on, unless it is of no time. */
static inline void claim_give(struct claimant *claimant, enum cause cause,
			      const struct claim *claim)
{
	if (claim->ns)
		claimant->take(claimant, cause, claim);
}

/* Passes claims for the time of one like this, spread over what had the CPU while this thread was
 * ready. Returns what is left of the time, ns. */
uint64_t ready_claims_like(struct claimant *claimant, const struct thread_row *thread,
			   const struct claim *like);

/* Passes all claims on a thread to claimant->take(). */
void claims_find(struct claimant *claimant, const struct thread_row *thread);

#endif
