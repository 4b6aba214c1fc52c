/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of control groups on memory, and how often they were reached. Reads files below a root,
 * which tests create; "" for this machine. */
#ifndef MEMORY_LIMITS_H
#define MEMORY_LIMITS_H

#include <stddef.h>
#include <sys/types.h>

#include "cli/model/culprit.h"

/* Finds the limits of a process's group and of those above that were ever reached; at most most.
 * hits: since the group was made. Returns their number. */
size_t memory_limits_read(const char *root, pid_t pid, struct memory_limit *limits, size_t most);

#endif
