/* SPDX-License-Identifier: Apache-2.0 */
/* The rings of the flight recorder. Part of the session. */
#ifndef SESSION_RECORDER_H
#define SESSION_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "recorder_rings.h"

/* The name of a thread that has ended, and whose slot another one may have by now. */
struct ended_name {
	uint32_t tid, tgid;
	char comm[KD_COMM_LEN];
};
#define ENDED_NAMES 4096 /* the last ones */

struct recorder {
	struct recorder_rings rings;
	struct kd_followed *followed; /* KD_FOLLOWED of them */
	uint64_t began;           /* CLOCK_MONOTONIC: what happened before is not in the rings */
	struct ended_name *ended; /* NULL: nothing is recorded */
	size_t n_ended;           /* grows for ever: the next one's is n_ended % ENDED_NAMES */
};

/* How many bytes the rings have. */
uint64_t recorder_bytes(const struct recorder *recorder);

#endif
