/* SPDX-License-Identifier: Apache-2.0 */
/* Which process is meant. */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"

struct target_name;

struct target {
	pid_t pid;
	unsigned int threads; /* at the moment */
	bool is_vswitchd;     /* by its name */
};

/* Fills *target: of the given pid, else of the one process with that name, else (NULL)
 * of the one running ovs-vswitchd, else of vpp_main or vpp. Returns 0, or after
 * printing what is wrong an exit status: EX_UNAVAILABLE (none, or one that
 * cannot be traced), EX_NOINPUT (several; they are listed). */
exit_status target_find(struct target *target, pid_t pid, const struct target_name *name);

/* The same of a process that has been found; if it has ended meanwhile it has no threads. */
struct target target_of(pid_t pid);

/* True if a process can be the target: it is there, no thread of the kernel, and neither this one
 * nor a child of it. */
bool target_can_be(pid_t pid);

/* Calls found() for every process that can be the target, other than this one. */
void target_each(void (*found)(void *context, pid_t pid, const char *comm), void *context);

/* The number of threads of a process now; 0 if it is gone. */
unsigned int target_threads(pid_t pid);

#endif
