/* SPDX-License-Identifier: Apache-2.0 */
/* Whether probes that are attached are where a process runs its code. The kernel puts them into
 * mappings of a file; the process may have put something else there, or run another copy. */
#ifndef PLACED_H
#define PLACED_H

#include <stddef.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "sites.h"

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
