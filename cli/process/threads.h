/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the target's threads are meant. */
#ifndef THREADS_H
#define THREADS_H

#include "cli/base/exit_status.h"
#include "cli/options/options.h"
#include "processes.h"

/* Checks that the threads that the options name by TID are the processes'. Returns 0 or, after
 * printing which is not, EX_UNAVAILABLE. */
exit_status threads_check(const struct processes *processes, const struct options *options);

#endif
