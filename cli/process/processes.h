/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are the target, now and by what rules later. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/options/options.h"
#include "group_members.h"

struct process {
	pid_t pid;
	uint64_t started;     /* as struct identity has it: with the PID, which process it is */
	unsigned int threads; /* when it was looked at */
};

struct processes {
	struct process *all; /* by PID; never empty once chosen */
	size_t n;
	bool show_arguments; /* in their titles */
	bool follow_fork;    /* and children of the target's processes, from their birth on */
	bool in_group;       /* and all that are, or come to be, in this group or below: */
	struct control_group group;
};

/* Finds the processes that the options mean, by whatever they name them; waits for them if
 * they say so. Returns 0, or after printing what is wrong an exit status: EX_UNAVAILABLE
 * (none, or one that cannot be traced), EX_NOINPUT (several, and one was meant), EX_NOPERM.
 * The caller clears it either way. */
exit_status processes_choose(struct processes *processes, const struct options *options);

/* The target is this process: pid, which runs. The rest is as above. */
exit_status processes_of(struct processes *processes, pid_t pid, const struct options *options);

/* True if the target is one process, and remains so. */
bool processes_is_one(const struct processes *processes);

/* Whether a process was one of them when they were looked at. */
bool processes_have(const struct processes *processes, pid_t pid);

/* Of all of them, when they were looked at. */
unsigned int processes_threads(const struct processes *processes);

/* Releases what it owns; safe on a zeroed one. */
void processes_clear(struct processes *processes);

#endif
