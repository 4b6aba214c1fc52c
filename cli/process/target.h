/* SPDX-License-Identifier: Apache-2.0 */
/* Which process is meant. */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/options/options.h"

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

/* --- Which processes have a name --- */

/* What the processes meant have in common. */
struct target_name {
	const char *comm;
	const char *file; /* which they execute; NULL: any */
	uid_t user;       /* real and effective; UID_ANY: any */
};

/* What the options say; comm may be NULL. */
struct target_name target_name_of(const struct options *options);

/* Whether a process, which has this comm, is meant. One whose user or file cannot be read is not.
 * The file is that of the path now, so one that has been replaced since is another one. */
bool target_name_fits(const struct target_name *name, pid_t pid, const char *comm);

/* --- By the options --- */

/* Finds the process that the options mean: by a PID of theirs; if that is 0, by whatever else they
 * name it. Waits for it if they say so. Returns as target_find(). */
exit_status target_choose(struct target *target, const struct options *options, pid_t pid);

/* Waits until there is a process of the options' name or file, if they say so. */
void target_await(const struct options *options);

#endif
