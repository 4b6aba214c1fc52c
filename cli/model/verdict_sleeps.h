/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of a thread's sleeps: what each was for says its wait channel, or else the kind of call or
 * descriptor. */
#ifndef VERDICT_SLEEPS_H
#define VERDICT_SLEEPS_H

#include "verdict_claims.h"

/* Passes the claims for all sleeps, and for page faults and reclaim, also on a CPU. */
void sleep_claims(struct claimant *claimant, const struct thread_row *thread);

/* Time for which the thread had nothing to do, ns: it slept for events, input or a time that it
 * chose, or for what need not come. */
uint64_t sleep_idle(const struct sample *sample, const struct thread_row *thread);

#endif
