/* SPDX-License-Identifier: Apache-2.0 */
/* Children that target processes had before --follow-fork could see their births. */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "processes.h"

/* Says how many children of the target are not watched, and which words watch them, too; nothing if
 * there are none. is_watched(context, pid): whether a process is. Returns 0, or EX_OSERR after
 * printing what is wrong. */
exit_status children_note(const struct processes *processes,
			  bool (*is_watched)(const void *context, pid_t pid), const void *context);

#endif
