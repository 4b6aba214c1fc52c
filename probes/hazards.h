/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong with probes in a process: they may kill it, or be in code that it does not
 * run. */
#ifndef HAZARDS_H
#define HAZARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "sites.h"

/* --- Targets that seccomp confines --- */

/* Some kernels (6.11 to 6.13 without the fix cf6cb56ef244) return from functions with return
 * probes by a system call. The target's seccomp filter may answer that call by killing the
 * target. */

/* True if any thread of the process is under a seccomp filter. */
bool process_is_confined(pid_t pid);

/* True if the kernel has a system call of this number (closed to programs) and runs seccomp
 * filters on it. Tries it in child processes. */
bool call_is_filtered(long number);

/* True if this kernel's probes would make system calls that the filter of the process (0: of any
 * process) may refuse. */
bool probes_endanger(pid_t pid);

/* --- Whether attached probes are in the code that a process runs --- */

/* The kernel puts probes into mappings of a file. The process may have mapped something else
 * there, or run another copy. */

enum placed_why {
	PLACED_UNMAPPED, /* the file is mapped, but not at the site */
	PLACED_WRITABLE, /* the mapping is writable: the kernel puts no probe there */
	PLACED_ELSEWHERE,
};

/* Counts of a trigger's sites in all processes looked at. Zeroed before the first one. */
struct placed {
	size_t looked; /* at sites */
	size_t missing;
	const struct site *first; /* of the missing ones: */
	pid_t pid;
	enum placed_why why;
};

/* Looks at one byte at each site in a process's memory. Skips files that it does not map, and
 * unreadable bytes. Returns 0 or -ENOMEM. */
int placed_look(struct placed *placed, const struct trigger_sites *given, pid_t pid);

/* Prints what is missing, and why. Returns an exit status if all are missing, else 0. */
exit_status placed_tell(const struct placed *placed, const struct trigger *trigger);

#endif
