/* SPDX-License-Identifier: Apache-2.0 */
/* Where a thread's row says what each cause took from it. */
#ifndef VERDICT_CLAIMS_H
#define VERDICT_CLAIMS_H

#include "verdict.h"

/* What a thread lost to one culprit. */
struct claim {
	uint64_t ns;
	uint64_t count;   /* times that this happened; 0: not known */
	uint64_t longest; /* of them; 0: not known */
	uint64_t so_far;  /* the longest that goes on; 0: none that is known */
	struct verdict_who who;
	const struct descriptor *at; /* where it waited; NULL: at none */
	struct kd_count requests;    /* to a disk whose completion ended that */
};

/* Gets the claims, one after the other. */
struct claimant {
	void (*take)(struct claimant *claimant, enum cause cause, const struct claim *claim);
	const struct sample *sample;
};

/* Gives all claims on a thread to claimant->take(). */
void claims_find(struct claimant *claimant, const struct thread_row *thread);

/* How long a thread slept because it had nothing to do, ns: in poll, epoll_wait, accept and
 * their like, for a timer, a signal or a terminal; or interruptibly for all of the window. */
uint64_t claims_work(const struct sample *sample, const struct thread_row *thread);

#endif
