/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what a control group may read and write kept the target's threads waiting. */
#ifndef DISK_LIMITS_H
#define DISK_LIMITS_H

#include "cli/model/sample.h"
#include "cli/process/group.h"
#include "session.h"

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
