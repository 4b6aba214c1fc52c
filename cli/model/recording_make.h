/* SPDX-License-Identifier: Apache-2.0 */
/* From events to a recording. */
#ifndef RECORDING_MAKE_H
#define RECORDING_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "recording.h"

/* An event of the flight recorder as user space has it. */
struct recorded_event {
	uint64_t at; /* CLOCK_MONOTONIC, ns */
	uint32_t tid, what;
	uint16_t cpu;
	uint8_t kind, detail; /* enum kd_recorded_kind */
};

static inline uint32_t recorded_event_state(const struct recorded_event *event)
{
	return event->detail & ((1U << KD_RECORDED_BEFORE) - 1);
}

static inline uint32_t recorded_event_before(const struct recorded_event *event)
{
	return event->detail >> KD_RECORDED_BEFORE;
}

/* What a thread of the target is when the events are read. Of one without events it was that all
 * the time. */
struct recorded_now {
	pid_t tid;
	uint8_t state, awaited;
	uint32_t cpu; /* on which it runs, or for which it waits */
	int32_t call;
	uint64_t since;
};

/* The name of an interrupt, which lives as long as the recording. */
typedef const char *recorded_irq_fn(void *context, pid_t tid, bool hard, uint8_t index);

struct recording_source {
	struct recorded_event *events; /* those of each CPU in the order in which it wrote them,
					  also after the recording's end; are sorted by this */
	size_t n_events;
	const struct recorded_now *now; /* the target's threads */
	size_t n_now;
	recorded_irq_fn *irq_name;
	void *context;
};

/* Fills the rows of a recording whose from and to are set, and whose threads are: sorted by TID.
 * The caller clears it in any case. Returns 0 or -ENOMEM. */
int recording_make(struct recording *recording, const struct recording_source *source);

#endif
