/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that several processes execute after triggers were looked up. */
#ifndef RUN_NEWCOMERS_H
#define RUN_NEWCOMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"

struct run_state;

struct newcomer {
	pid_t pid;
	uint64_t due_at;    /* CLOCK_MONOTONIC ns */
	unsigned int looks; /* looks before this one */
	bool was_searched;  /* if it ends before, nothing may be missing */
};

/* Processes that have just run a program; starts as zeros. */
struct newcomers {
	struct newcomer *all;
	size_t n, capacity;
	uint64_t missed; /* ended before a look, or too many to look at */
};

/* Call it when hits begin to count: processes may have called execve since they were searched. */
void newcomers_begin(struct newcomers *newcomers, const struct run_state *run);

/* Adds a process that called execve at that time (CLOCK_MONOTONIC ns). */
void newcomers_add(struct newcomers *newcomers, pid_t pid, uint64_t at);

/* Looks for the triggers in the files of due processes and of those that joined the target, and
 * attaches probes there. Returns 0 or an exit status. */
exit_status newcomers_look(struct newcomers *newcomers, struct run_state *run);

/* Reports how many were missed. */
void newcomers_tell(const struct newcomers *newcomers);

void newcomers_clear(struct newcomers *newcomers);

#endif
