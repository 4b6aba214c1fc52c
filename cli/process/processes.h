/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are the target, now and by what rules later. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "cli/options/options.h"
#include "container.h"
#include "group.h"

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

/* --- What they are called --- */

/* Begins as zeros. All but the first field are its own business. */
struct process_describer {
	bool arguments;            /* titles have all arguments of the command line */
	char id[CONTAINER_ID + 1]; /* of the container that was described last */
	struct container_names names;
	unsigned int silent; /* processes that did not give their titles in time */
};

/* Sets the name of a row, which an exec may have changed; it stays as it was if the process has
 * ended. */
void process_name(struct process_row *row, pid_t pid);

/* The same for title, container, image and pod, by what /proc and the runtimes' files say of a
 * process; they stay empty if that is nothing. id, "" at first, is that of the container that the
 * row names: its files are read when it is another one. A process that cannot
 * be asked for its title without waiting for its memory costs 50 ms, and a few of them at most
 * are waited for. */
void process_describe(struct process_describer *describer, struct process_row *row,
		      char id[static CONTAINER_ID + 1], pid_t pid);

/* Container, image and pod alone. id as above. */
void process_container(struct process_describer *describer, struct process_row *row,
		       char id[static CONTAINER_ID + 1], pid_t pid);

/* --- Those chosen by TID --- */

/* Checks that the threads that the options name by TID are the processes'. Returns 0 or, after
 * printing which is not, EX_UNAVAILABLE. */
exit_status threads_check(const struct processes *processes, const struct options *options);

#endif
