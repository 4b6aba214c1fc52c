/* SPDX-License-Identifier: Apache-2.0 */
/* PIDs as processes in a PID namespace see them, such as those of a container. */
#ifndef PID_NAMESPACE_H
#define PID_NAMESPACE_H

#include <stddef.h>
#include <sys/types.h>

/* A namespace and all above it: MAX_PID_NS_LEVEL, include/linux/pid_namespace.h, and one. */
#define PID_NAMESPACE_LEVELS 33

/* Reads a process's PIDs from the text of its status file, that of the outermost namespace
 * first. Returns how many there are; 0: the text has none, or no valid ones. */
size_t pid_namespace_pids(const char *status, pid_t pids[PID_NAMESPACE_LEVELS]);

/* Finds the process that has a PID in the namespace of another one, by the procfs that is
 * mounted on proc ("/proc"). Returns 0; -ESRCH: there is no such process in it; -ENOENT: the
 * other one is not there; another negative errno: its namespace cannot be read. */
int pid_namespace_find(const char *proc, pid_t member, pid_t pid, pid_t *found);

#endif
