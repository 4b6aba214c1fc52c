/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording has of a thread, as events of its tracks. Where it has all that the thread was
 * in, waits in rows are no slices of their own: they say more of a state's. */
#ifndef RECORDED_H
#define RECORDED_H

#include "callstacks.h"
#include "pftrace.h"
#include "timeline.h"

/* Its states, the calls that no row has, and the interrupts that hit it; nothing without a
 * recording. */
void recorded_write(struct pftrace *trace, struct callstacks *callstacks,
		    const struct timeline_thread *thread);

/* The states of one that has a single track. */
void recorded_write_other(struct pftrace *trace, const struct timeline_other *other);

/* Hits of triggers, on the tracks of their threads. */
void recorded_write_hits(struct pftrace *trace, const struct timeline *timeline);

/* A slice of an interrupt. */
void irq_write(struct pftrace *trace, const struct recorded_irq *irq, uint64_t track);

#endif
