/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of single events, of the flight recorder and of interruptions. Part of the session. */
#ifndef PART_RECORDER_H
#define PART_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/model/recording_make.h"

#define ENDED_NAMES 4096 /* the latest ones: slots of ended threads may belong to others by now */

struct recorder {
	struct recorder_rings rings;
	struct kd_followed *followed;  /* KD_FOLLOWED entries */
	uint64_t began;                /* CLOCK_MONOTONIC: earlier events are not in the rings */
	struct recorded_thread *ended; /* NULL: nothing is recorded */
	size_t n_ended;                /* never wraps: the next index is n_ended % ENDED_NAMES */
};

/* Returns the size of the rings, bytes. */
uint64_t recorder_bytes(const struct recorder *recorder);

#endif
