/* SPDX-License-Identifier: Apache-2.0 */
/* PIDs: from files of daemons and other namespaces, of processes that end, and of new ones. */
#ifndef PIDS_H
#define PIDS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

/* --- PID files of daemons --- */

/* Reads the PID in the file's first line. *written: last change of the file, wall clock ns.
 * Returns 0; -ENODATA: empty file; -EINVAL: no PID in it; another negative errno: unreadable. */
int pidfile_read(const char *path, pid_t *pid, uint64_t *written);

/* --- PIDs of other namespaces --- */

/* Finds the process with this PID in the namespace of member, from the procfs mounted on proc
 * ("/proc"). Returns 0; -ESRCH: no such process in it; -ENOENT: no member; another negative
 * errno: its namespace is unreadable. */
int pid_namespace_find(const char *proc, pid_t member, pid_t pid, pid_t *found);

/* --- Identity of a process beyond its PID --- */

struct identity {
	pid_t pid;
	uint64_t started; /* ns since boot, rounded to a clock tick */
	char name[KD_COMM_LEN];
	char file[PATH_MAX]; /* its executable, even if replaced; "": unknown */
};

/* Reads it; false without such a process, or for a zombie. */
bool identity_read(struct identity *identity, pid_t pid);

/* True if this process still exists. */
bool identity_is_alive(const struct identity *identity);

/* Current time, on the clock of started. */
uint64_t identity_clock(void);

/* Start of the process, in ns of the current wall clock. */
uint64_t identity_started_at(const struct identity *identity);

/* --- New processes with some name --- */

/* Detects them by the kernel's process connector, or else by scanning /proc now and then. */

#define APPEAR_SHARE 200 /* scans of /proc take at most 1/200 of a CPU */

struct appear {
	char name[KD_COMM_LEN];
	int fd;        /* readable when appear_look() should be called at once; -1: none */
	uint64_t next; /* next scan of /proc, ns of CLOCK_MONOTONIC */
};

/* Starts detecting processes with this name. */
void appear_open(struct appear *appear, const char *name);

/* True if there may be a new one since the last call, or any on the first call. Does not block. */
bool appear_look(struct appear *appear);

void appear_close(struct appear *appear);

#endif
