/* SPDX-License-Identifier: Apache-2.0 */
/* Files in which daemons write their PID. */
#ifndef PIDS_H
#define PIDS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

/* Reads the PID in the file's first line. *written is when the file was changed last, ns of
 * the wall clock. Returns 0; -ENODATA: the file is empty; -EINVAL: there is no PID in it; another
 * negative errno: it cannot be read. */
int pidfile_read(const char *path, pid_t *pid, uint64_t *written);

/* --- PIDs of other namespaces --- */

/* A namespace and all above it: MAX_PID_NS_LEVEL, include/linux/pid_namespace.h, and one. */
#define PID_NAMESPACE_LEVELS 33

/* Reads a process's PIDs from the text of its status file, that of the outermost namespace
 * first. Returns how many there are; 0: the text has none, or no valid ones. */
size_t pid_namespace_pids(const char *status, pid_t pids[PID_NAMESPACE_LEVELS]);

/* Finds the process that has a PID in the namespace of another one, by the procfs that is
 * mounted on proc ("/proc"). Returns 0; -ESRCH: there is no such process in it; -ENOENT: the
 * other one is not there; another negative errno: its namespace cannot be read. */
int pid_namespace_find(const char *proc, pid_t member, pid_t pid, pid_t *found);

/* --- A process for longer than its PID is its own --- */

struct identity {
	pid_t pid;
	uint64_t started; /* ns since the machine's start, to a clock tick */
	char name[KD_COMM_LEN];
	char file[PATH_MAX]; /* its executable, also if that was replaced; "" if unknown */
};

/* Reads it; false if there is no such process, or it is a zombie. */
bool identity_read(struct identity *identity, pid_t pid);

/* True if this process is still there. */
bool identity_is_alive(const struct identity *identity);

/* True if other is not this process, and runs the same program under the same name. */
bool identity_is_successor(const struct identity *identity, const struct identity *other);

/* The time now, as in started. */
uint64_t identity_clock(void);

/* When the process started, ns of the wall clock as it is now. */
uint64_t identity_started_at(const struct identity *identity);

#endif
