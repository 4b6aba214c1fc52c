/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of what interrupts threads. Part of the session. */
#ifndef SESSION_INTERRUPTIONS_H
#define SESSION_INTERRUPTIONS_H

#include "cli/base/exit_status.h"
#include "session_types.h"

struct kernel_delay;
struct ring_buffer;

/* Returns 0, or a negative errno, which ends the walk. */
typedef int interruption_fn(void *context, const struct kd_interruption *part);

/* Zeroed: there is none. */
struct interruption_ring {
	struct ring_buffer *ring;
	interruption_fn *found; /* of the walk in progress */
	void *context;
};

/* Before loading: has the programs send them. Returns 0, or after printing what failed an exit
 * status. */
exit_status interruption_ring_select(struct kernel_delay *skel, bool wanted);

/* After loading. Returns as above. */
exit_status interruption_ring_open(struct interruption_ring *ring, struct kernel_delay *skel,
				   bool wanted);

/* Calls found() for each part since the last call; times count from the epoch. Returns 0 or a
 * negative errno, which may be found()'s. */
int interruption_ring_read(struct interruption_ring *ring, interruption_fn *found, void *context);

void interruption_ring_close(struct interruption_ring *ring);

#endif
