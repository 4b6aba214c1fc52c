/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a recording from events. */
#ifndef RECORDING_MAKE_H
#define RECORDING_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "recording.h"

/* An event of the flight recorder in user space. */
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

/* State of a target thread when the events were read. A thread without events was in it
 * throughout. */
struct recorded_now {
	pid_t tid;
	uint8_t state, awaited;
	uint32_t cpu; /* where it runs or waits to run */
	int32_t call;
	uint64_t since;
};

/* Name of an interrupt; must outlive the recording. */
typedef const char *recorded_irq_fn(void *context, pid_t tid, bool hard, uint8_t index);

struct recording_source {
	struct recorded_event *events; /* each CPU's in write order, including events after the
					* recording's end; sorted in place */
	size_t n_events;
	const struct recorded_now *now; /* target threads */
	size_t n_now;
	recorded_irq_fn *irq_name;
	void *context;
};

/* Fills the rows of a recording; its from, to and threads (sorted by TID) must be set. Returns 0
 * or -ENOMEM; the caller clears it in either case. */
int recording_make(struct recording *recording, const struct recording_source *source);

/* --- Rings --- */

/* Copies the rings of the flight recorder while the BPF side goes on writing. */

/* Memory of the maps. */
struct recorder_rings {
	struct kd_recorded *events;
	struct kd_recorder *positions;  /* by CPU */
	uint32_t cpus, capacity, spare; /* entries per ring */
};

/* Tells the BPF side where each CPU's rings are. */
void recorder_rings_begin(struct recorder_rings *rings);

/* True if some CPU's events have filled its ring once: the oldest are overwritten from now on. */
bool recorder_rings_are_full(const struct recorder_rings *rings);

/* What the rings hold of events since a time, up to now: CPU by CPU, in the order in which they
 * were written. Times are CLOCK_MONOTONIC; epoch is the session's. *events becomes the caller's to
 * free(). *complete: of what happened since then nothing is missing that had found its place.
 * Returns 0 or -ENOMEM. */
int recorder_rings_copy(const struct recorder_rings *rings, uint64_t since, uint64_t now,
			uint64_t epoch, struct recorded_event **events, size_t *n,
			uint64_t *complete);

#endif
