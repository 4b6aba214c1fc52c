/* SPDX-License-Identifier: Apache-2.0 */
/* When the tick of a CPU is due. Its period is known, and where in it the tick lies is learnt: the
 * local timer's interrupts come there again and again, others of them anywhere. Times are ns. */
#ifndef TICK_H
#define TICK_H

#include <stdint.h>

/* One that comes so much later than usual is late. */
#define TICK_LATE_NS 100000

#define TICK_PHASES 8
struct tick_phase {
	uint64_t offset; /* in the period; the mean of late */
	uint32_t seen;
};

/* Of one CPU. Starts as zeroes. */
struct tick {
	struct tick_phase phases[TICK_PHASES];
	uint32_t seen;
};

/* Takes note of an interrupt of the local timer at t. If it had been possible from the time before
 * on without a break, and none came, returns by how much the tick was late that was due in between:
 * nothing keeps a CPU that runs in user mode from taking it. 0: it was not late, or that is not
 * known. before KD_NEVER: it had not been possible; it is only noted. */
uint64_t tick_note(struct tick *tick, uint64_t period, uint64_t before, uint64_t t);

#endif
