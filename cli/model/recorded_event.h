/* SPDX-License-Identifier: Apache-2.0 */
/* An event of the flight recorder as user space has it, and their order. */
#ifndef RECORDED_EVENT_H
#define RECORDED_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

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

/* Sorts by TID, then by time; equal ones stay in their order. spare: room for n of them. Takes
 * a time that grows with n, if the events of each CPU were in the order of time or nearly. */
void recorded_events_sort(struct recorded_event *events, struct recorded_event *spare, size_t n);

#endif
