/* SPDX-License-Identifier: Apache-2.0 */
/* What the rings of the flight recorder hold, copied while the kernel side goes on writing. */
#ifndef RECORDER_RINGS_H
#define RECORDER_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/model/recording_make.h"

/* The maps' memory. */
struct recorder_rings {
	struct kd_recorded *events;
	struct kd_recorder *positions; /* by CPU */
	uint32_t cpus, room, spare;    /* entries of each ring */
};

/* Tells the kernel side of each CPU's rings where they are. */
void recorder_rings_begin(struct recorder_rings *rings);

/* What the rings hold of events since a time, up to now: CPU by CPU, in the order in which they
 * were written. Times are CLOCK_MONOTONIC; epoch is the session's. *events becomes the caller's to
 * free(). *complete: of what happened since then nothing is missing that had found its place.
 * Returns 0 or -ENOMEM. */
int recorder_rings_copy(const struct recorder_rings *rings, uint64_t since, uint64_t now,
			uint64_t epoch, struct recorded_event **events, size_t *n,
			uint64_t *complete);

#endif
