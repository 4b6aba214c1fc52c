/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Rounds of an event loop: from the return of a poll to the thread's next one. A handler may run a
 * loop of its own, as execSync() in Node.js and modal dialogs do; that is part of the round. Such a
 * loop polls further down on the stack than the one that it is called from. */
#ifndef POLL_BPF_H
#define POLL_BPF_H

#include "compat.bpf.h"
#include "thread.bpf.h"

/* Further away is another stack: that of a coroutine, or of a signal handler. */
#define POLL_DEPTH (1 << 20)
/* So many polls elsewhere, and none of the loop, and another one is the outermost: if it is further
 * up; */
#define POLLS_ABOVE 4
/* if it is further down, the loop may only be waiting for it, so that takes longer. */
#define POLLS_BELOW 16
#define POLLS_BELOW_NS 10000000000ULL

static __always_inline u64 current_user_sp(void)
{
	struct pt_regs *regs = current_user_regs();

	return REGS_READ(regs, sp);
}

/* The current thread enters a poll. Returns the start of the round that this ends; 0: none, as it
 * is within one, or the loop has ended long ago. */
static __noinline u64 round_end(struct kd_rounds *rounds, u64 t)
{
	u64 sp = current_user_sp(), since = rounds->since;
	bool within = since && sp < rounds->sp && rounds->sp - sp < POLL_DEPTH;

	if (sp == rounds->sp || !rounds->sp)
		rounds->elsewhere = 0;
	else
		rounds->elsewhere++;
	rounds->nested = within &&
			 (rounds->elsewhere < POLLS_BELOW || elapsed(since, t) < POLLS_BELOW_NS);
	if (rounds->nested)
		return 0;
	if (!rounds->sp || within || rounds->elsewhere >= POLLS_ABOVE) {
		rounds->sp = sp;
		rounds->elsewhere = 0;
	}
	rounds->since = 0;
	return within ? 0 : since;
}

/* It returns. */
static __always_inline void round_begin(struct kd_rounds *rounds, u64 t)
{
	if (!rounds->nested)
		rounds->since = t;
}

#endif
