/* SPDX-License-Identifier: Apache-2.0 */
/* The rings of the flight recorder. Part of the session. */
#ifndef SESSION_RECORDER_H
#define SESSION_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "recorder_rings.h"

struct kernel_delay;

/* The name of a thread that has ended, and whose slot another one may have by now. */
struct ended_name {
	uint32_t tid, tgid;
	char comm[KD_COMM_LEN];
};
#define ENDED_NAMES 4096 /* the last ones */

struct recorder {
	struct kernel_delay *skel; /* NULL: nothing is recorded */
	struct recorder_rings rings;

	struct kd_followed *followed; /* KD_FOLLOWED of them */
	uint64_t began; /* CLOCK_MONOTONIC: what happened before is not in the rings */
	struct ended_name *ended;
	size_t n_ended; /* grows for ever: the next one's is n_ended % ENDED_NAMES */
};

/* Before loading: rings that take this many bytes together, rounded down; 0: none. Returns 0, or
 * after printing what failed an exit status. */
exit_status recorder_select(struct recorder *recorder, struct kernel_delay *skel, uint64_t bytes);

/* After loading. Returns as above. */
exit_status recorder_map(struct recorder *recorder);

/* All threads are known: from now on the rings are complete. */
void recorder_begin(struct recorder *recorder);

/* How many bytes the rings have. */
uint64_t recorder_bytes(const struct recorder *recorder);

/* A slot is about to be freed: its thread's name is kept. */
void recorder_note(struct recorder *recorder, const struct kd_thread *thread);

void recorder_close(struct recorder *recorder);

#endif
