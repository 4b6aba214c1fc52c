/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts when a CPU's tick is due. The period is known; the phase is learned: ticks of the
 * local timer always come at the same phase, other timer interrupts at any. Times are ns. */
#ifndef TICK_H
#define TICK_H

#include <stdint.h>

/* A tick this far past its usual time is late. */
#define TICK_LATE_NS 100000

#define TICK_PHASES 8
struct tick_phase {
	uint64_t offset; /* in the period; running mean */
	uint32_t seen;
};

/* One CPU. Starts zeroed. */
struct tick {
	struct tick_phase phases[TICK_PHASES];
	uint32_t seen;
};

/* Notes a local timer interrupt at t. If the CPU could take a tick from before to t and one was
 * due in between, returns how late that tick was: nothing in user mode holds it off. 0: on time,
 * or unknown. before KD_NEVER: only notes t. */
uint64_t tick_note(struct tick *tick, uint64_t period, uint64_t before, uint64_t t);

#endif
