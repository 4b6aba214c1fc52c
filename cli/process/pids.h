/* SPDX-License-Identifier: Apache-2.0 */
/* PIDs: in files of daemons and in other namespaces, of processes that end, and of those that come.
 */
#ifndef PIDS_H
#define PIDS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

/* --- Files in which daemons write their PID --- */

/* Reads the PID in the file's first line. *written is when the file was changed last, ns of
 * the wall clock. Returns 0; -ENODATA: the file is empty; -EINVAL: there is no PID in it; another
 * negative errno: it cannot be read. */
int pidfile_read(const char *path, pid_t *pid, uint64_t *written);

/* --- PIDs of other namespaces --- */

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

/* --- Processes of some name that were not there before --- */

/* Tells when there may be one: from the kernel's process connector, else by looking through /proc
 * now and then. */

#define APPEAR_SHARE 200 /* looking through /proc takes at most one of so many parts of a CPU */

/* The fields are its own business. */
struct appear {
	char name[KD_COMM_LEN];
	int fd;        /* of the connector; -1: there is none */
	uint64_t next; /* look through /proc then, ns of CLOCK_MONOTONIC */
};

/* From now on processes of this name are noticed. */
void appear_open(struct appear *appear, const char *name);

/* True if there may be a new one since the last call, or there is one at the first. Does not
 * wait. */
bool appear_look(struct appear *appear);

/* Becomes readable when appear_look() should be called at once; -1: nothing does. */
int appear_fd(const struct appear *appear);

/* Waits until that may be worth calling, at most for so long (ns). */
void appear_wait(const struct appear *appear, uint64_t ns);

void appear_close(struct appear *appear);

#endif
