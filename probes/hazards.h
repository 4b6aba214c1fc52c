/* SPDX-License-Identifier: Apache-2.0 */
/* What can be wrong with probes in a process: they may be the end of it, or not be where it runs
 * its code. */
#ifndef HAZARDS_H
#define HAZARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "sites.h"

/* --- Targets that seccomp confines --- */

/* Some kernels (6.11 to 6.13 without the fix cf6cb56ef244) return from functions with return probes
 * by a system call, which the target's own filter may answer by killing it. */

/* True if any thread of the process is under a seccomp filter. */
bool process_is_confined(pid_t pid);

/* True if the kernel has a system call of this number (that may not be called by
 * programs) and asks seccomp filters about it. Tries it in processes of its own. */
bool call_is_filtered(long number);

/* True if this kernel's probes would make system calls that the filter of the process
 * (0: of any) may refuse. */
bool probes_endanger(pid_t pid);

/* --- Whether probes that are attached are where a process runs its code --- */

/* The kernel puts them into mappings of a file; the process may have put something else there, or
 * run another copy. */

enum placed_why {
	PLACED_UNMAPPED, /* the file is mapped, but not that part of it */
	PLACED_WRITABLE, /* it may be written to there: the kernel puts no probe */
	PLACED_ELSEWHERE,
};

/* Of a trigger's sites, in all processes that were looked at. Zeroed before the first. */
struct placed {
	size_t looked; /* at sites */
	size_t missing;
	const struct site *first; /* of those that are missing: */
	pid_t pid;
	enum placed_why why;
};

/* Looks at one byte at each site in a process's memory. Files that it has not mapped at all, and
 * what cannot be read, are passed over. Returns 0 or -ENOMEM. */
int placed_look(struct placed *placed, const struct trigger_sites *given, pid_t pid);

/* Says what is missing, and why. Returns an exit status if that is all, else 0. */
exit_status placed_tell(const struct placed *placed, const struct trigger *trigger);

#endif
