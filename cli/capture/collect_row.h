/* SPDX-License-Identifier: Apache-2.0 */
/* From what the maps say of one thread in one window to its row. */
#ifndef COLLECT_ROW_H
#define COLLECT_ROW_H

#include <stdbool.h>

#include "cli/model/sample.h"
#include "cli/process/group.h"
#include "session.h"
#include "session_types.h"

/* Reads the thread of a slot into a zeroed row, which owns what it gets. Adds one to *torn
 * if it could not be read consistently. Returns 1, 0 if the thread did not live in the
 * window, or a negative errno. */
int collect_row(struct session *session, const struct session_view *view, uint32_t slot,
		struct thread_row *row, uint64_t *torn);

/* Names a hard interrupt by its index in the thread's record; the thread may be NULL if it is one
 * of enum kd_vector. */
void collect_hardirq_name(struct session *session, int index, const struct kd_thread *thread,
			  struct irq_row *row);

/* Names a soft interrupt by its vector. */
void collect_softirq_name(uint32_t vector, struct irq_row *row);

/* A system call's row. */
struct call_row collect_call(uint32_t number, const struct kd_count *count);

/* --- Whether what a control group may read and write kept the target's threads waiting --- */

#define DISK_LIMITS 32 /* of groups and disks, that are looked at */

struct disk_limits {
	struct disk_count counts[DISK_LIMITS];
	size_t n;
	uint64_t looked, due;      /* when they were read, and will be, CLOCK_MONOTONIC ns */
	struct disk_limit reached; /* the last one that was used up, */
	uint64_t reached_at;       /* since the epoch; 0: none was */
};

/* Looks, a few times a second, how much of their limits is used by the groups of threads that
 * sleep uninterruptibly now. */
void disk_limits_look(struct disk_limits *limits, const struct session_view *view);

/* What the sample's threads may have waited for. */
void disk_limits_take(struct disk_limits *limits, const struct session_view *view,
		      struct sample *sample);

#endif
