/* SPDX-License-Identifier: Apache-2.0 */
/* What can be known to fail before anything is loaded. */
#ifndef PREFLIGHT_H
#define PREFLIGHT_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"

/* Checks privileges and the PID namespace. Returns 0, or after printing what is
 * missing EX_NOPERM. */
exit_status preflight_check(void);

/* --- On which CPUs --- */

/* Moves this process off the CPUs that the target's threads are bound to, and
 * off isolated and nohz_full ones, where others remain; else to those whose bound threads are
 * idle; says so where there are none. */
void placement_choose(pid_t pid);

/* The same choice among the CPUs in all, with the machine's files below another folder than /:
 * for tests. Fills *cpus; false: bound threads use them all. */
bool placement_find(const char *root, pid_t pid, const cpu_set_t *all, cpu_set_t *cpus);

#endif
