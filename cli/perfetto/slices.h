/* SPDX-License-Identifier: Apache-2.0 */
/* The events of one thread's tracks. What is not wholly in the window is cut at its edges, and
 * says how long it was: windows may follow one another in a file, and the events of one do not
 * reach into those of another. */
#ifndef SLICES_H
#define SLICES_H

#include "callstacks.h"
#include "pftrace.h"
#include "timeline.h"

/* Writes all of them behind the thread's tracks, which tracks_write_thread() wrote. */
void slices_write(struct pftrace *trace, struct callstacks *callstacks,
		  const struct timeline_thread *thread);

/* An arrow from each thread that woke another, and the tracks of those that are not the
 * target's. */
void wakeups_write(struct pftrace *trace, const struct timeline *timeline);

/* Hits of triggers that were recorded, on the tracks of their threads. */
void recorded_write_hits(struct pftrace *trace, const struct timeline *timeline);

/* A slice of an interrupt. */
void irq_write(struct pftrace *trace, const struct recorded_irq *irq, uint64_t track);

#endif
