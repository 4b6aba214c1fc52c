/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the target process. */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/base/proc_file.h"
#include "cli/options/options.h"

struct target_name;

struct target {
	pid_t pid;
	unsigned int threads; /* current number */
	bool is_vswitchd;     /* by its name */
};

/* Fills *target: by pid, else the only process with that name, else (NULL) the running
 * ovs-vswitchd, else vpp_main or vpp. Returns 0, or an exit status after printing what is wrong:
 * EX_UNAVAILABLE (none, or untraceable), EX_NOINPUT (several; they are listed). */
exit_status target_find(struct target *target, pid_t pid, const struct target_name *name);

/* Describes a process that was found; without threads if it has ended meanwhile. */
struct target target_of(pid_t pid);

/* True if a process can be the target: alive, not a kernel thread, and neither this process nor
 * its child. */
bool target_can_be(pid_t pid);

/* Zeroed: at the beginning. */
struct process_walk {
	struct proc_list list;
	pid_t pid;
	struct proc_stat stat;
};

/* Goes to the next process that can be the target, except this one. Returns false after the last
 * one, up to which it must be called. */
bool target_next(struct process_walk *walk);

/* Current number of threads; 0 if the process is gone. */
unsigned int target_threads(pid_t pid);

/* --- Processes by name --- */

/* Properties that the wanted processes share. */
struct target_name {
	const char *comm;
	const char *file; /* executable; NULL: any */
	uid_t user;       /* real and effective; UID_ANY: any */
};

/* From the options; comm may be NULL. */
struct target_name target_name_of(const struct options *options);

/* True if a process with this comm matches. Unreadable users or files never match. The file is
 * what the path means now, so a replaced executable does not match. */
bool target_name_fits(const struct target_name *name, pid_t pid, const char *comm);

/* --- By options --- */

/* Finds the process named by the options: by pid, or if that is 0 by anything else. Waits for it
 * if asked to. Returns as target_find(). */
exit_status target_choose(struct target *target, const struct options *options, pid_t pid);

/* Waits for a process with the name or file in the options, if asked to. */
void target_await(const struct options *options);

#endif
