/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of disks that control groups have: io.max, and blkio.throttle.* of version 1. */
#ifndef GROUP_DISK_H
#define GROUP_DISK_H

#include <stddef.h>
#include <sys/types.h>

#include "cli/model/disk_limit.h"

/* A limit, and how much there was of that until now. */
struct disk_count {
	struct disk_limit limit; /* without used */
	unsigned int major, minor;
	uint64_t count;
};

/* Finds the limits of a process's group and, of version 2, those above it: at most so many.
 * Returns how many. */
size_t group_disk_limits(pid_t pid, struct disk_count *counts, size_t most);

#endif
