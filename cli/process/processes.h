/* SPDX-License-Identifier: Apache-2.0 */
/* Target processes, now and by rules for later ones. */
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
	uint64_t started;     /* as in struct identity: identifies the process along with its PID */
	unsigned int threads; /* when it was chosen */
};

struct processes {
	struct process *all; /* by PID; never empty once chosen */
	size_t n;
	bool show_arguments; /* in their titles */
	bool follow_fork;    /* includes children of target processes, from birth */
	bool in_group;       /* includes processes in this group or below, also later ones: */
	struct control_group group;
};

/* Finds the processes named by the options, waiting for them if asked to. Returns 0, or an exit
 * status after printing what is wrong: EX_UNAVAILABLE (none, or untraceable), EX_NOINPUT
 * (several instead of one), EX_NOPERM. The caller clears it in either case. */
exit_status processes_choose(struct processes *processes, const struct options *options);

/* Makes running process pid the target. The rest is as above. */
exit_status processes_of(struct processes *processes, pid_t pid, const struct options *options);

/* True if the target is a single process, and stays so. */
bool processes_is_one(const struct processes *processes);

/* True if the process was among them when they were chosen. */
bool processes_have(const struct processes *processes, pid_t pid);

/* Number of their threads when they were chosen. */
unsigned int processes_threads(const struct processes *processes);

/* Frees what it owns; safe on a zeroed one. */
void processes_clear(struct processes *processes);

/* --- Names --- */

/* Starts zeroed. All but the first field are private. */
struct process_describer {
	bool arguments;            /* titles include all arguments */
	char id[CONTAINER_ID + 1]; /* latest container described */
	struct container_names names;
	unsigned int silent; /* processes whose titles timed out */
};

/* Updates the name of a row, which an exec may have changed; unchanged if the process has ended. */
void process_name(struct process_row *row, pid_t pid);

/* Sets title, container, image and pod from /proc and the runtimes' files; unknown ones stay
 * empty. id: container of the row, "" at first; its files are read when it changes. A title that
 * requires waiting for the process's memory costs 50 ms, and only a few are waited for. */
void process_describe(struct process_describer *describer, struct process_row *row,
		      char id[static CONTAINER_ID + 1], pid_t pid);

/* Sets only container, image and pod. id as above. */
void process_container(struct process_describer *describer, struct process_row *row,
		       char id[static CONTAINER_ID + 1], pid_t pid);

/* --- Threads chosen by TID --- */

/* Checks that threads named by TID belong to the processes. Returns 0, or EX_UNAVAILABLE after
 * printing which does not. */
exit_status threads_check(const struct processes *processes, const struct options *options);

#endif
