/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of control groups on memory that threads ran into. */
#ifndef COLLECT_MEMORY_H
#define COLLECT_MEMORY_H

#include <stdbool.h>

#include "cli/model/sample.h"

#define MEMORY_LIMITS 16

/* The limits of the target's groups before a window. */
struct memory_watch {
	struct memory_limit limits[MEMORY_LIMITS];
	size_t n;
	bool looked;
	uint64_t due; /* next look, CLOCK_MONOTONIC ns */
};

/* Looks before a window opens, and once a second while none is open. */
void memory_watch_look(struct memory_watch *watch, pid_t pid, bool open);

/* Gives the sample, which has its threads, the limit that was reached most often, if threads lost
 * time to memory. */
void memory_limit_take(const struct memory_watch *watch, struct sample *sample);

#endif
