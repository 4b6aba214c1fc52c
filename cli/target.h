/* SPDX-License-Identifier: Apache-2.0 */
/* Which process is meant. */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <sys/types.h>

struct target {
	pid_t pid;
	unsigned int threads; /* at the moment */
	bool is_vswitchd;     /* by its name */
	bool foreign_calls;   /* a 32-bit program: its system calls have other numbers */
};

/* Fills *target: of the given pid, else of the one process with that name, else
 * of the one running ovs-vswitchd, else of vpp_main or vpp. Returns 0, or after
 * printing what is wrong an exit status: EX_UNAVAILABLE (none, or one that
 * cannot be traced), EX_NOINPUT (several; they are listed). */
int target_find(struct target *target, pid_t pid, const char *comm);

/* The number of threads of a process now; 0 if it is gone. */
unsigned int target_threads(pid_t pid);

#endif
