/* SPDX-License-Identifier: Apache-2.0 */
/* Of several processes: what they execute after triggers were looked up. */
#ifndef RUN_NEWCOMERS_H
#define RUN_NEWCOMERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "run_sampling.h"

struct newcomer {
	pid_t pid;
	uint64_t due_at;    /* CLOCK_MONOTONIC ns */
	unsigned int looks; /* so many before this one */
	bool was_searched;  /* if it ends first, nothing may be missing */
};

/* Processes that run a program since a moment ago; begins as zeros. */
struct newcomers {
	struct newcomer *all;
	size_t n, room;
	uint64_t missed; /* that had ended, or were too many, before they were looked at */
};

/* The run begins to take hits: its processes may have called execve since they were searched. */
void newcomers_begin(struct newcomers *newcomers, const struct run *run);

/* One has called execve at that time (CLOCK_MONOTONIC ns). */
void newcomers_add(struct newcomers *newcomers, pid_t pid, uint64_t at);

/* Looks for the triggers in the files of those that are due, and of those that have joined the
 * target, and attaches probes there. Returns 0 or an exit status. */
exit_status newcomers_look(struct newcomers *newcomers, struct run *run);

/* Says how many were missed. */
void newcomers_tell(const struct newcomers *newcomers);

void newcomers_clear(struct newcomers *newcomers);

#endif
