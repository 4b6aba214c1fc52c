/* SPDX-License-Identifier: Apache-2.0 */
/* Who else used a disk that threads waited for. */
#ifndef COLLECT_DISKS_H
#define COLLECT_DISKS_H

#include "cli/model/sample.h"
#include "cli/process/disk_users.h"

struct session_view;

struct disk_watch {
	struct disk_users before;
	uint64_t looked; /* CLOCK_MONOTONIC ns; 0: never */
	bool failed;     /* there are too many processes: not tried again */
};

/* Looks once in a window, as soon as a thread waits for a disk: to be called every few ms. */
void disk_watch_look(struct disk_watch *watch, const struct session_view *view);

/* Gives the sample, which has its threads, the process that had most of the disk for which they
 * waited longest, if that was 10 % of the window. */
void disk_use_take(const struct disk_watch *watch, struct sample *sample);

void disk_watch_clear(struct disk_watch *watch);

#endif
