/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the rings of the flight recorder while the BPF side goes on writing. */
#ifndef RECORDER_RINGS_H
#define RECORDER_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/model/recording_make.h"

/* Memory of the maps. */
struct recorder_rings {
	struct kd_recorded *events;
	struct kd_recorder *positions;  /* by CPU */
	uint32_t cpus, capacity, spare; /* entries per ring */
};

/* Tells the BPF side where each CPU's rings are. */
void recorder_rings_begin(struct recorder_rings *rings);

/* What the rings hold of events since a time, up to now: CPU by CPU, in the order in which they
 * were written. Times are CLOCK_MONOTONIC; epoch is the session's. *events becomes the caller's to
 * free(). *complete: of what happened since then nothing is missing that had found its place.
 * Returns 0 or -ENOMEM. */
int recorder_rings_copy(const struct recorder_rings *rings, uint64_t since, uint64_t now,
			uint64_t epoch, struct recorded_event **events, size_t *n,
			uint64_t *complete);

#endif
