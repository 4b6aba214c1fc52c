/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLACEMENT_H
#define PLACEMENT_H

#include <sys/types.h>

/* Moves this process off the CPUs that the target's threads are bound to, and
 * off isolated and nohz_full ones, where others remain; says so where none do. */
void placement_choose(pid_t pid);

#endif
