/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of sleeps that another thread of the target ended: what kept that one, see chain.h. */
#ifndef VERDICT_CHAINS_H
#define VERDICT_CHAINS_H

#include <stdint.h>

#include "verdict_claims.h"

/* Sleeps that are followed. */
struct chain_of {
	/* Those of a thread in one wait channel and call; wchan NULL: in futexes, and with via,
	 * ended by that thread. */
	const char *wchan;
	int32_t call;
	pid_t via;
	enum cause cause;   /* of what leads to a thread that was not kept from running, */
	struct claim claim; /* in this claim: ns of all, and what is the same for each */
};

/* Passes claims for a thread's sleeps as far as their chains are known. Returns the time that is
 * left to claim, ns. */
uint64_t chain_claims(struct claimant *claimant, const struct thread_row *thread,
		      const struct chain_of *of);

#endif
