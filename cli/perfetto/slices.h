/* SPDX-License-Identifier: Apache-2.0 */
/* Events on one thread's tracks. Items that cross the window's edges are clipped, and note their
 * full length. Windows may follow each other in a file, and must not reach into each other. */
#ifndef SLICES_H
#define SLICES_H

#include "callstacks.h"
#include "pftrace.h"
#include "timeline.h"

/* Writes all events, after tracks_write_thread() wrote the tracks. */
void slices_write(struct pftrace *trace, struct callstacks *callstacks,
		  const struct timeline_thread *thread);

/* Writes an arrow for each wakeup, and the tracks of threads outside the target. */
void wakeups_write(struct pftrace *trace, const struct timeline *timeline);

/* Writes recorded trigger hits on the tracks of their threads. */
void recorded_write_hits(struct pftrace *trace, const struct timeline *timeline);

/* Writes the slice of an interrupt. */
void irq_write(struct pftrace *trace, const struct recorded_irq *irq, uint64_t track);

#endif
